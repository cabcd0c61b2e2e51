"""All of Discord's commands, choices and menus through the real handlers, and what limits them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.homes import HOMES
from tests.crash.outside import Reply
from tests.discord.fake import ELSEWHERE, OWNER, PRIVATE, SERVER_CHANNEL, STRANGER
from tests.discord.limits import Rate
from tests.discord.state import Interaction, Person, Place
from tests.e2e.discord_house import DiscordHouse, ask, kani, opened

LONG = "深い海の底には、まだ誰も見たことのない蟹が暮らしています。" * 150


@pytest.fixture
def reef(tmp_path: Path) -> Iterator[DiscordHouse]:
    """A house beside a Discord, which is never told anything wrong."""
    yield from opened(HOMES[0], tmp_path)


def test_who_asks_a_frozen_installation_is_told_so(reef: DiscordHouse) -> None:
    kani(reef)
    frozen = reef.discord.command("freeze")
    reef.work()
    assert frozen.messages[0].shown_to == OWNER.id
    told = ask(reef)
    reef.work()
    assert "凍結" in told.text
    reef.discord.command("unfreeze")
    reef.work()
    assert answered(reef, ask(reef)) == "やあ"


def answered(house: DiscordHouse, interaction: Interaction) -> str:
    """What an interaction says in the end."""
    house.rest()
    return interaction.text


def test_agents_are_offered_while_somebody_types(reef: DiscordHouse) -> None:
    kani(reef)
    ask(reef)
    reef.work()
    offered = reef.discord.complete("ask", {"agent": "\uff2b\uff21"}, focused="agent")
    assert offered.choices == [{"name": "kani", "value": "kani"}]
    nothing = reef.discord.complete("ask", {"agent": "いない"}, focused="agent")
    assert nothing.choices == []


def test_the_same_interaction_again_is_answered_once(reef: DiscordHouse) -> None:
    kani(reef)
    interaction = ask(reef)
    assert reef.discord.send(interaction) == 409
    reef.begin()
    assert reef.discord.send(interaction) == 202
    reef.rest()
    assert reef.seen(SERVER_CHANNEL) == ["やあ"]


def test_limits_that_are_enforced_delay_a_long_answer_and_lose_nothing(
    reef: DiscordHouse,
) -> None:
    limits = reef.discord.api.limits
    limits.enforced = True
    limits.rates = {"POST /channels": Rate(1, 4), "PATCH /webhooks": Rate(1, 30)}
    kani(reef, Reply(text=LONG[:4_500]))
    asked = [ask(reef, f"{n}") for n in range(3)]
    reef.rest()
    assert all(each.standing == "answered" for each in asked)
    assert len(reef.seen(SERVER_CHANNEL)) == 9
    assert len([each for each in reef.discord.log if each.status == 429]) <= 2


def test_a_message_is_asked_about_and_remembered_by_its_menu(reef: DiscordHouse) -> None:
    kani(reef, Reply(text="面白い話ですね"))
    said = reef.discord.say("深海には蟹がいるらしい", STRANGER)
    asked = reef.discord.menu("Ask about this", said)
    kept = reef.discord.menu("Remember this", said)
    refused = reef.discord.menu("Remember this", said, by=STRANGER)
    reef.work()
    assert asked.text == "面白い話ですね"
    assert "深海には蟹がいるらしい" in kept.text
    assert [each.messages[0].shown_to for each in (kept, refused)] == [OWNER.id, STRANGER.id]
    assert "深海" not in refused.text


COMMANDS: dict[str, dict[str, Any]] = {
    "session start": {"agent": "kani", "theme": "深海"},
    "session status": {},
    "session leave": {"agent": "kani"},
    "session join": {"agent": "kani"},
    "session speak-freely": {"off": True},
    "session end": {},
    "task": {"agent": "kani", "instruction": "調べて"},
    "approve": {},
    "agent show": {"agent": "kani"},
    "agent state": {"agent": "kani"},
    "agent goals": {"agent": "kani"},
    "memory search": {"agent": "kani", "query": "蟹"},
    "memory forget": {"agent": "kani", "memory": "m1"},
    "model list": {},
    "model set": {"agent": "kani", "model": "fake:other", "use": "conversation"},
    "model reset": {"agent": "kani"},
    "costs": {},
    "freeze": {"agent": "kani"},
    "unfreeze": {"agent": "kani"},
}


@pytest.mark.parametrize("place", [SERVER_CHANNEL, PRIVATE, ELSEWHERE], ids=["in", "dm", "guest"])
@pytest.mark.parametrize(("by", "locale"), [(OWNER, "ja"), (STRANGER, "en-US")])
def test_every_command_is_answered_in_words_or_embeds(
    reef: DiscordHouse, by: Person, locale: str, place: Place
) -> None:
    kani(reef)
    for name, options in COMMANDS.items():
        interaction = reef.discord.command(name, options, by=by, place=place, locale=locale)
        reef.rest()
        shown = [each for each in interaction.messages if each.content or each.embeds]
        assert shown, name
        assert not interaction.messages[0].is_loading, name
