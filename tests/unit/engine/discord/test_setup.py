"""Setting Discord up: commands by their difference, invitations, and what the doctor says."""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from opencrab.domain.discord.community import Community, Presence, Spot
from opencrab.domain.errors import NotFound, OpenCrabError, Refused, Unavailable
from opencrab.domain.value import Language
from opencrab.engine.discord.advice import _CURES, _WHAT, discord_advice
from opencrab.engine.discord.diagnosis import Check, discord_setup_checks
from opencrab.engine.discord.presence import set_agent_discord_presence
from opencrab.engine.discord.setup import (
    PERMISSIONS,
    BotApplication,
    CommandsDifference,
    compare_discord_commands,
    discord_bot_invitation,
    discord_registration_difference,
    register_all_discord_commands,
)
from tests.unit.engine.known_world import World
from tests.unit.engine.portal import BOT, CHANNEL, DOOR, GUILD, KEY, Portal

ASK: dict[str, Any] = {
    "name": "ask",
    "type": 1,
    "description": "Ask an agent",
    "name_localizations": {"ja": "質問"},
    "contexts": [0, 1, 2],
    "integration_types": [1, 0],
    "options": [
        {"type": 3, "name": "agent", "description": "Who", "required": True, "autocomplete": True},
        {"type": 3, "name": "text", "description": "What", "required": True, "max_length": 6000},
    ],
}
MENU = {"name": "Ask about this", "type": 3, "contexts": [0, 1, 2]}
OURS = BotApplication(BOT, KEY, DOOR, commands=lambda: (ASK, MENU))
HERE = Spot(channel_id=CHANNEL, mentions_only=False)


@pytest.fixture
def portal(world: World) -> Portal:
    portal = Portal()
    community = Community(owner_ids=("700",), guild_ids=(GUILD,))
    world.runtime = replace(world.runtime, discord=portal, community=community)
    return portal


def checks(
    world: World, application: BotApplication = OURS, language: Language = Language.EN
) -> dict[str, Check]:
    """What the doctor finds, by name."""
    return {
        check.name: check for check in discord_setup_checks(world.runtime, application, language)
    }


def worst(world: World) -> list[str]:
    """The names of what is not well."""
    return [name for name, check in checks(world).items() if check.state != "ok"]


def test_registering_shows_the_difference_and_is_done_once(world: World, portal: Portal) -> None:
    both = ("/ask", "Ask about this")
    assert discord_registration_difference(world.runtime.discord, OURS, None) == CommandsDifference(
        added=both
    )
    assert register_all_discord_commands(world.runtime.discord, OURS, None) == CommandsDifference(
        added=both
    )
    assert register_all_discord_commands(world.runtime.discord, OURS, None) == CommandsDifference(
        same=both
    )
    assert portal.asked.count(f"PUT /applications/{BOT}/commands") == 1


def test_a_change_and_a_leftover_are_told(world: World, portal: Portal) -> None:
    register_all_discord_commands(world.runtime.discord, OURS, None)
    other = {**ASK, "options": [*ASK["options"][:1]]}
    fewer = replace(OURS, commands=lambda: (other,))
    assert discord_registration_difference(
        world.runtime.discord, fewer, None
    ) == CommandsDifference(changed=("/ask",), removed=("Ask about this",))


def test_the_order_of_options_is_a_difference_and_that_of_contexts_is_none() -> None:
    turned = {**ASK, "options": ASK["options"][::-1]}
    assert compare_discord_commands([ASK], [turned]).changed == ("/ask",)
    assert compare_discord_commands([ASK], [{**ASK, "contexts": [2, 1, 0]}]).same == ("/ask",)
    assert compare_discord_commands([ASK], [{**ASK, "integration_types": [0]}]).changed == ("/ask",)


def test_commands_of_one_server_do_not_tell_where_they_are_used(
    world: World, portal: Portal
) -> None:
    assert register_all_discord_commands(world.runtime.discord, OURS, GUILD).added
    (ask, _) = portal.commands[f"/applications/{BOT}/guilds/{GUILD}/commands"]
    assert ask["contexts"] is None
    assert discord_registration_difference(world.runtime.discord, OURS, GUILD).is_none


def test_the_links_invite_with_exactly_what_is_needed(world: World, portal: Portal) -> None:
    links = discord_bot_invitation(world.runtime.discord, OURS)
    query = parse_qs(urlsplit(links.server).query)
    assert query == {
        "client_id": [BOT],
        "scope": ["bot applications.commands"],
        "permissions": [str(PERMISSIONS)],
        "integration_type": ["0"],
    }
    assert parse_qs(urlsplit(links.user).query)["integration_type"] == ["1"]


def test_without_discord_only_that_is_said(world: World) -> None:
    assert worst(world) == ["discord"]
    with pytest.raises(NotFound, match="disabled"):
        discord_registration_difference(world.runtime.discord, OURS, None)
    with pytest.raises(NotFound):
        discord_bot_invitation(world.runtime.discord, OURS)


def test_where_everything_is_right_nothing_is_to_be_done(world: World, portal: Portal) -> None:
    set_agent_discord_presence(world.runtime.home, Presence(agent_id="mika", spots=(HERE,)))
    register_all_discord_commands(world.runtime.discord, OURS, None)
    found = checks(world)
    assert worst(world) == []
    assert all(check.what and not check.cure for check in found.values())
    assert set(found) == {
        "token", "application", "public_key", "endpoint", "guilds", "install", "message_content",
        "commands", f"channel {CHANNEL}", "owners",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "expected", "word"),
    [
        ({"id": "1001"}, ("application", "problem"), "1001"),
        ({"verify_key": "cd" * 32}, ("public_key", "problem"), "cdcd"),
        ({"interactions_endpoint_url": None}, ("endpoint", "problem"), DOOR),
        ({"interactions_endpoint_url": "https://old/x"}, ("endpoint", "problem"), DOOR),
        ({"flags": 0}, ("message_content", "problem"), "Message Content Intent"),
        ({"integration_types_config": {"1": {}}}, ("install", "warning"), "Guild Install"),
        ({"integration_types_config": None}, ("install", "warning"), "Guild Install"),
        ({"integration_types_config": {"0": {}}}, ("install", "warning"), "User Install"),
    ],
)
def test_each_fault_of_the_application_is_found_with_its_cure(
    world: World, portal: Portal, change: dict[str, Any], expected: tuple[str, str], word: str
) -> None:
    set_agent_discord_presence(world.runtime.home, Presence(agent_id="mika", spots=(HERE,)))
    register_all_discord_commands(world.runtime.discord, OURS, None)
    portal.application |= change
    name, state = expected
    assert worst(world) == [name]
    for language in Language:
        check = checks(world, language=language)[name]
        assert (check.state, word in check.cure) == (state, True), check


def test_a_public_bot_in_every_server_is_a_warning(world: World, portal: Portal) -> None:
    portal.application["bot_public"] = True
    for language, words in (
        (Language.EN, "owners and known users only"),
        (Language.JA, "にだけ応答"),
    ):
        listed = checks(world, language=language)["guilds"]
        assert (listed.state, words in listed.what) == ("ok", True)
    world.runtime = replace(world.runtime, community=Community())
    assert checks(world)["guilds"].state == "warning"
    assert checks(world)["owners"].state == "warning"
    portal.application["bot_public"] = False
    assert checks(world)["guilds"].state == "ok"


def test_message_content_is_needed_only_to_hear_everything(world: World, portal: Portal) -> None:
    portal.application["flags"] = 0
    set_agent_discord_presence(
        world.runtime.home, Presence(agent_id="mika", spots=(Spot(channel_id=CHANNEL),))
    )
    assert checks(world)["message_content"].state == "ok"


def test_one_of_several_public_keys_is_enough(world: World, portal: Portal) -> None:
    several = replace(OURS, public_key=f"{'00' * 32}, {KEY.upper()}")
    assert checks(world, several)["public_key"].state == "ok"
    assert checks(world, replace(OURS, public_key=""))["public_key"].state == "problem"


def test_where_the_address_is_not_known_the_endpoint_is_told_as_it_is(
    world: World, portal: Portal
) -> None:
    unknown = replace(OURS, endpoint=None)
    assert DOOR in checks(world, unknown)["endpoint"].what
    portal.application["interactions_endpoint_url"] = None
    assert "/discord/interactions" in checks(world, unknown)["endpoint"].cure


@pytest.mark.parametrize(
    ("trouble", "what"),
    [(Refused("401"), "token"), (Unavailable("no route"), "connect to Discord")],
)
def test_without_a_token_that_works_nothing_else_is_asked(
    world: World, portal: Portal, trouble: OpenCrabError, what: str
) -> None:
    portal.troubles["/users/@me"] = trouble
    assert worst(world) == ["token"]
    assert what in checks(world)["token"].what
    assert set(portal.asked) == {"GET /users/@me"}


def test_commands_in_each_server_do_as_well(world: World, portal: Portal) -> None:
    assert checks(world)["commands"].state == "problem"
    register_all_discord_commands(world.runtime.discord, OURS, GUILD)
    assert checks(world)["commands"].state == "ok"


def _overwrites(portal: Portal, *overwrites: tuple[str, int, int]) -> None:
    portal.found[f"/channels/{CHANNEL}"]["permission_overwrites"] = [
        {"id": who, "type": 0, "allow": str(allow), "deny": str(deny)}
        for who, allow, deny in overwrites
    ]


@pytest.mark.parametrize(
    ("overwrites", "missing"),
    [
        ([(GUILD, 0, 1 << 11)], "Send Messages"),
        ([(GUILD, 0, 1 << 11), ("7", 1 << 11, 0)], ""),
        ([("7", 1 << 11, 0), (BOT, 0, 1 << 11)], "Send Messages"),
        ([("8", 0, 1 << 11)], ""),
        ([(GUILD, 0, 1 << 10), ("7", 0, 1 << 16)], "View Channel, Read Message History"),
    ],
)
def test_permissions_of_a_channel_are_worked_out_as_discord_does(
    world: World, portal: Portal, overwrites: list[tuple[str, int, int]], missing: str
) -> None:
    set_agent_discord_presence(world.runtime.home, Presence(agent_id="mika", spots=(HERE,)))
    _overwrites(portal, *overwrites)
    check = checks(world)[f"channel {CHANNEL}"]
    assert check.state == ("problem" if missing else "ok")
    assert check.what.endswith(missing)


def test_an_administrator_may_everything_and_a_stranger_sees_no_channel(
    world: World, portal: Portal
) -> None:
    set_agent_discord_presence(world.runtime.home, Presence(agent_id="mika", spots=(HERE,)))
    _overwrites(portal, (BOT, 0, 1 << 10))
    portal.found[f"/guilds/{GUILD}/members/{BOT}"]["roles"] = ["8"]
    assert checks(world)[f"channel {CHANNEL}"].state == "ok"
    portal.troubles[f"/channels/{CHANNEL}"] = Refused("Missing Access")
    hidden = checks(world, language=Language.JA)[f"channel {CHANNEL}"]
    assert (hidden.state, "招待" in hidden.cure) == ("problem", True)


def test_a_thread_has_the_permissions_of_its_channel(world: World, portal: Portal) -> None:
    portal.found["/channels/556"] = {
        "id": "556", "type": 11, "guild_id": GUILD, "parent_id": CHANNEL, "name": "thread"
    }  # fmt: skip
    set_agent_discord_presence(
        world.runtime.home, Presence(agent_id="mika", spots=(Spot(channel_id="556"),))
    )
    assert checks(world)["channel 556"].state == "ok"
    _overwrites(portal, (GUILD, 0, 0), ("7", 0, 1 << 38))
    assert "Threads" in checks(world)["channel 556"].what


def test_a_bot_of_an_agents_own_needs_its_secret(world: World, portal: Portal) -> None:
    set_agent_discord_presence(
        world.runtime.home, Presence(agent_id="mika", token_secret="MIKA_TOKEN")
    )
    check = checks(world)["bot of mika"]
    assert (check.state, "MIKA_TOKEN" in check.what) == ("problem", True)


def test_all_advice_is_there_in_both_languages() -> None:
    assert _CURES.keys() <= _WHAT.keys()
    for key, told in (*_WHAT.items(), *_CURES.items()):
        assert all(told[language] for language in Language), key
    assert discord_advice("token", Language.JA, name="a", id="1") != discord_advice(
        "token", Language.EN, name="a", id="1"
    )
