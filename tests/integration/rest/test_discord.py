"""Discord over REST: the doctor, commands, presences, and what the relay brings."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.providers.scripted.script import ScriptedAnswer
from opencrab.domain.discord.community import Community, discord_channel
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.engine.discord.setup import BotApplication
from opencrab.gateways.rest.app import create_rest_app
from opencrab.gateways.rest.http.polling import PollingWatch
from tests.discord.cdn import Cdn
from tests.discord.state import attachment
from tests.integration.rest.house import SETUP, House, problem
from tests.unit.engine.portal import BOT, CHANNEL, GUILD, KEY, Portal

COMMANDS = ({"name": "ask", "type": 1, "description": "Ask an agent"},)
HANA = {"id": "700", "name": "花子"}


class Guild(House):
    """A house with a bot."""

    def __init__(self, folder: Path) -> None:
        self.portal = Portal()
        super().__init__(folder)

    def furnish(self, **changes: Any) -> None:
        community = Community(owner_ids=("700",), guild_ids=(GUILD,))
        given: dict[str, Any] = {"discord": self.portal, "community": community} | changes
        self.runtime = replace(self.runtime, **given)
        bot = BotApplication(BOT, KEY, commands=lambda: COMMANDS)
        watch = PollingWatch(0.02)
        self.app = create_rest_app(self.runtime, watch=watch, setup=lambda _: SETUP, bot=bot)

    def hears(
        self, number: int, content: str = "やあ", *, key: str | None = None, **fields: Any
    ) -> dict[str, Any]:
        said = {
            "id": str((1_000_000_000_000 + number) << 22),
            "channel_id": CHANNEL,
            "guild_id": GUILD,
            "author": HANA,
            "content": content,
            "mentions_bot": True,
        }
        headers = {} if key is None else {"Idempotency-Key": key}
        found: dict[str, Any] = self.made("/discord/messages", said | fields, headers=headers)
        return found

    def listens(self, agent_id: str, **spot: Any) -> None:
        body = {"spots": [{"channel_id": CHANNEL} | spot]}
        assert self.call("PUT", f"/agents/{agent_id}/discord", body).status_code == 200


@pytest.fixture
def guild(tmp_path: Path) -> Iterator[Guild]:
    guild = Guild(tmp_path)
    yield guild
    guild.close()


def test_the_doctor_speaks_the_callers_language(guild: Guild) -> None:
    for language, word in (("ja", "`opencrab admin discord register` を"), ("en", "run `opencrab")):
        shown = guild.got("/discord", headers={"Accept-Language": language})["checks"]
        commands = next(check for check in shown if check["name"] == "commands")
        assert (commands["state"], word in commands["cure"]) == ("problem", True)


def test_an_installation_with_a_public_address_knows_its_door(guild: Guild) -> None:
    guild.portal.application["interactions_endpoint_url"] = "https://old.example/x"
    checks = guild.got("/discord")["checks"]
    endpoint = next(check for check in checks if check["name"] == "endpoint")
    assert endpoint["state"] == "ok"  # http://house is no public address: nobody knows


def test_commands_are_compared_and_registered(guild: Guild) -> None:
    assert guild.got("/discord/commands")["added"] == ["/ask"]
    put = guild.call("PUT", "/discord/commands", {"guild_id": GUILD})
    assert put.json()["added"] == ["/ask"]
    assert guild.got(f"/discord/commands?guild_id={GUILD}")["same"] == ["/ask"]
    assert guild.got("/discord/commands")["added"] == ["/ask"]
    problem(guild.call("GET", "/discord/commands?guild_id=crab"), 422)


def test_the_links_name_the_application(guild: Guild) -> None:
    links = guild.got("/discord/invite")
    assert all(f"client_id={BOT}" in links[name] for name in ("server", "user"))


def test_a_presence_is_set_shown_listed_and_dropped(guild: Guild) -> None:
    agent_id = guild.agent()
    nothing = guild.got(f"/agents/{agent_id}/discord")
    assert (nothing["spots"], nothing["owner_ids"]) == ([], [])
    spot = {"channel_id": CHANNEL, "mentions_only": False}
    body: dict[str, Any] = {"spots": [spot], "owner_ids": ["700"], "token_secret": "MIKA_TOKEN"}
    put = guild.call("PUT", f"/agents/{agent_id}/discord", body).json()
    assert put["spots"][0] == spot | {"reads": True, "writes": True, "hearing": "session"}
    assert guild.got(f"/agents/{agent_id}/discord") == put
    assert guild.got("/discord/presences")["items"] == [put]
    assert guild.call("DELETE", f"/agents/{agent_id}/discord").json() == nothing
    assert guild.got("/discord/presences")["items"] == []


@pytest.mark.parametrize(
    "body",
    [
        {"spots": [{"channel_id": "crabs"}]},
        {"spots": [{"channel_id": CHANNEL}, {"channel_id": CHANNEL}]},
        {"owner_ids": [700]},
        {"owners": ["700"]},
        {"user_ids": ["0123"]},
    ],
)
def test_a_presence_that_makes_no_sense_is_refused(guild: Guild, body: dict[str, Any]) -> None:
    problem(guild.call("PUT", f"/agents/{guild.agent()}/discord", body), 422)


def test_nobody_is_nothing_on_discord(guild: Guild) -> None:
    for method in ("GET", "PUT", "DELETE"):
        body: Any = {} if method == "PUT" else None
        problem(guild.call(method, "/agents/nobody/discord", body), 404)


def test_a_message_becomes_a_turn_that_answers_in_the_channel(guild: Guild) -> None:
    agent_id = guild.agent(language="ja")
    guild.listens(agent_id)
    guild.script(ScriptedAnswer(text="こんにちは、花子さん"))
    first = guild.hears(1)
    assert first["reason"] is None
    assert guild.hears(1) == first
    guild.work()
    (turn_id,) = first["turn_ids"]
    turn = guild.got(f"/turns/{turn_id}")
    assert (turn["source"], turn["authority"], turn["status"]) == ("discord", "owner", "completed")
    later = guild.runtime.clock.now() + timedelta(hours=1)
    (utterance,) = guild.runtime.home.outbox.list_unsent(later, 10)
    assert utterance.channel == discord_channel(CHANNEL)
    assert utterance.text == "こんにちは、花子さん"


def test_a_file_of_a_message_is_taken_once_however_its_address_is_signed(guild: Guild) -> None:
    cdn = Cdn()
    guild.furnish(discord_files=cdn.source)
    agent_id = guild.agent()
    guild.listens(agent_id)
    kept = cdn.file("メモ.md", "蟹は横に歩く".encode())
    url = attachment(kept, CHANNEL)["url"]
    files = [
        [{"name": "メモ.md", "size": 18, "url": f"{url}{signed}"}] for signed in ("hm=1", "hm=2")
    ]
    first = guild.hears(1, "", files=files[0], key="discord-1")
    assert guild.hears(1, "", files=files[1], key="discord-1") == first
    assert guild.hears(1, "", files=["メモ.md"], key="discord-1") == first
    assert guild.hears(1, "", files=files[1]) == first
    (stored,) = guild.got(f"/agents/{agent_id}/workspace?prefix=uploads")["items"]
    assert stored["path"].endswith("/メモ.md")
    assert len(cdn.net.requests) == 1


@pytest.mark.parametrize("file", [{"url": "https://x"}, {"name": ""}, 7, {"name": "a", "size": -1}])
def test_a_file_without_a_name_is_refused(guild: Guild, file: Any) -> None:
    said = {"id": "1", "channel_id": CHANNEL, "author": HANA, "files": [file]}
    problem(guild.call("POST", "/discord/messages", said), 422)


def test_nobody_answers_what_concerns_nobody(guild: Guild) -> None:
    assert guild.hears(1) == {"turn_ids": [], "reason": "nobody"}
    own = {"id": BOT, "name": "OpenCrab", "is_bot": True}
    assert guild.hears(2, author=own)["reason"] == "own"
    assert guild.hears(3, guild_id="43")["reason"] == "guild"


def test_bots_that_go_round_in_circles_are_left_alone(guild: Guild) -> None:
    guild.listens(guild.agent())
    bot = {"id": "900", "name": "Echo", "is_bot": True}
    reasons = [guild.hears(n, "echo", author=bot)["reason"] for n in range(4)]
    assert reasons == [None, None, "loop", "loop"]


def test_the_same_message_with_other_words_is_a_conflict(guild: Guild) -> None:
    guild.listens(guild.agent())
    guild.hears(1)
    said: dict[str, Any] = {
        "id": str((1_000_000_000_000 + 1) << 22),
        "channel_id": CHANNEL,
        "guild_id": GUILD,
    }
    said |= {"author": HANA, "content": "other", "mentions_bot": True}
    problem(guild.call("POST", "/discord/messages", said), 409)


def _ours(guild: Guild, turn_id: str, **changes: Any) -> None:
    button = {"type": 2, "style": 2, "label": "👍", "custom_id": f"oc:fb:{turn_id}:u"}
    message = {"author": {"id": BOT}, "components": [{"type": 1, "components": [button]}]}
    guild.portal.found[f"/channels/{CHANNEL}/messages/99"] = message | changes


def _reacts(guild: Guild, emoji: str = "👍", **fields: Any) -> dict[str, Any]:
    body = {"channel_id": CHANNEL, "guild_id": GUILD, "message_id": "99", "author": HANA}
    made: dict[str, Any] = guild.made("/discord/reactions", body | {"emoji": emoji} | fields)
    return made


def test_a_thumb_under_our_message_is_feedback(guild: Guild) -> None:
    guild.listens(guild.agent())
    (turn_id,) = guild.hears(1)["turn_ids"]
    _ours(guild, turn_id)
    assert _reacts(guild) == {"turn_id": None, "reason": "early"}
    guild.work()
    assert _reacts(guild, "👍🏽") == {"turn_id": turn_id, "reason": None}
    agent_id = guild.got(f"/turns/{turn_id}")["agent_id"]
    kept = guild.got(f"/agents/{agent_id}/memory/experiences")["items"]
    assert [each["from_person"] for each in kept] == ["discord-700"]
    (fact,) = guild.runtime.home.facts.page(agent_id, EXPERIENCE)
    assert fact.read(Experience).by_owner


def test_other_reactions_are_no_feedback(guild: Guild) -> None:
    guild.listens(guild.agent())
    (turn_id,) = guild.hears(1)["turn_ids"]
    guild.work()
    _ours(guild, turn_id)
    assert _reacts(guild, "🦀")["reason"] == "emoji"
    assert _reacts(guild, author={"id": "701", "name": "誰か"})["reason"] == "stranger"
    _ours(guild, turn_id, author={"id": "900"})
    assert _reacts(guild)["reason"] == "others"
    _ours(guild, turn_id, components=[])
    assert _reacts(guild)["reason"] == "unknown"
    _ours(guild, "no-such-turn")
    assert _reacts(guild)["reason"] == "unknown"


def test_where_discord_is_off_everything_says_so(house: House) -> None:
    (check,) = house.got("/discord")["checks"]
    assert (check["name"], check["state"]) == ("discord", "problem")
    for path in ("/discord/commands", "/discord/invite"):
        assert (
            "docs/how-to/set-up-a-discord-bot.md" in problem(house.call("GET", path), 404)["cure"]
        )
    said = {"id": "1", "channel_id": "2", "author": HANA}
    problem(house.call("POST", "/discord/messages", said), 404)


@pytest.mark.parametrize(
    ("who", "reason"),
    [
        (HANA, None),
        ({"id": "701", "name": "誰か"}, None),
        ({"id": "702", "name": "ほかの人"}, "stranger"),
        ({"id": "701", "name": "誰か", "is_bot": True}, "emoji"),
    ],
    ids=["owner", "who asked", "stranger", "bot"],
)
def test_a_stop_sign_under_a_question_stops_its_answer(
    guild: Guild, who: dict[str, Any], reason: str | None
) -> None:
    guild.listens(guild.agent())
    asker = {"id": "701", "name": "誰か"}
    (turn_id,) = guild.hears(1, author=asker)["turn_ids"]
    message_id = str((1_000_000_000_000 + 1) << 22)
    guild.portal.found[f"/channels/{CHANNEL}/messages/{message_id}"] = {"author": asker}
    given = {"message_id": message_id, "author": who}
    stopped = turn_id if reason is None else None
    assert _reacts(guild, "🛑", **given) == {"turn_id": stopped, "reason": reason}
    guild.work()
    expected = "completed" if reason else "stopped"
    assert guild.got(f"/turns/{turn_id}")["status"] == expected
    if reason is None:
        again = _reacts(guild, "🛑", **given, guild_id=GUILD)
        assert again["reason"] == "unknown"
