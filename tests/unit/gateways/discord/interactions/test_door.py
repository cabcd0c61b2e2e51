"""The door: what Discord signed a moment ago gets in, and is kept before it is acknowledged."""

import base64
import json
from typing import Any

import pytest

from opencrab.gateways.discord.interactions.door import (
    FRESH_SECONDS,
    MOST_BYTES,
    REMEMBERED,
    discord_interaction_headers_and_body,
    interaction_http_result,
)
from tests.unit.gateways.discord.doorway import CHANNEL, NOW, PERSON, TOKEN, Doorway, interaction

USER = {"id": PERSON, "username": "海"}


@pytest.fixture
def doorway() -> Doorway:
    return Doorway()


def test_a_ping_is_answered_with_a_pong(doorway: Doorway) -> None:
    answer = doorway.ask({"type": 1, "id": "1", "token": "x"})
    assert (answer.status, answer.body) == (200, {"type": 1})
    assert interaction_http_result(answer) == {
        "statusCode": 200,
        "headers": {"content-type": "application/json"},
        "body": '{"type": 1}',
    }


def test_a_command_is_kept_as_it_came_then_acknowledged_then_accepted(doorway: Doorway) -> None:
    told = interaction()
    answer = doorway.ask(told)
    kept, acknowledged = doorway.done
    assert kept == ("kept", json.dumps(told, ensure_ascii=False), CHANNEL, told["id"])
    assert acknowledged == ("acknowledged", told["id"], TOKEN, {"type": 5})
    assert interaction_http_result(answer) == {"statusCode": 202, "headers": {}, "body": ""}


@pytest.mark.parametrize(
    ("told", "group"),
    [
        (interaction(), CHANNEL),
        (interaction(member=None, user=USER, guild_id=None, context=1), CHANNEL),
        (interaction(member=None, user=USER, guild_id=None, context=2), CHANNEL),
        (interaction(channel_id=None), PERSON),
        (interaction(channel_id="general"), PERSON),
    ],
    ids=["server", "with the bot", "elsewhere", "no channel", "odd channel"],
)
def test_every_context_is_taken_in(doorway: Doorway, told: Any, group: str) -> None:
    assert doorway.ask(told).status == 202
    assert doorway.done[0][2] == group


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        (2, {"name": "ask"}, {"type": 5}),
        (2, {"name": "Ask about this"}, {"type": 5}),
        (2, {"name": "memory"}, {"type": 5, "data": {"flags": 64}}),
        (2, {"name": "Remember this"}, {"type": 5, "data": {"flags": 64}}),
        (3, {"custom_id": "oc:ap:01abc:y"}, {"type": 6}),
        (3, {"custom_id": "somebody else's"}, {"type": 6}),
        (5, {"custom_id": "oc:sm:a:G1"}, {"type": 5, "data": {"flags": 64}}),
    ],
)
def test_each_type_has_its_acknowledgement(
    doorway: Doorway, kind: int, data: Any, said: Any
) -> None:
    assert doorway.ask(interaction(kind, data=data)).status == 202
    assert doorway.done[1][3] == said


@pytest.mark.parametrize(("locale", "title"), [("ja", "追加の指示"), ("en-US", "Steer")])
def test_steering_is_asked_for_by_a_form_at_once(doorway: Doorway, locale: str, title: str) -> None:
    told = interaction(3, locale=locale, data={"custom_id": "oc:st:crab:G1", "component_type": 2})
    answer = doorway.ask(told)
    assert answer.status == 200
    assert answer.body["type"] == 9
    assert answer.body["data"]["custom_id"] == "oc:sm:crab:G1"
    assert answer.body["data"]["title"] == title
    assert not doorway.done


@pytest.mark.parametrize(
    ("locale", "word"), [("ja", "もう一度"), ("en-GB", "again"), (None, "again")]
)
def test_what_cannot_be_kept_is_said_so_and_not_acknowledged(
    doorway: Doorway, locale: str | None, word: str
) -> None:
    doorway.queue_fails = True
    answer = doorway.ask(interaction(locale=locale))
    assert (answer.status, answer.body["type"], answer.body["data"]["flags"]) == (200, 4, 64)
    assert word in answer.body["data"]["content"]
    assert answer.body["data"]["allowed_mentions"] == {"parse": []}
    assert not doorway.done


def test_what_was_not_kept_may_come_again(doorway: Doorway) -> None:
    doorway.queue_fails = True
    doorway.ask(interaction())
    doorway.queue_fails = False
    assert doorway.ask(interaction()).status == 202


def test_what_is_kept_is_acknowledged_by_the_answer_where_the_call_fails(doorway: Doorway) -> None:
    doorway.discord_fails = True
    answer = doorway.ask(interaction())
    assert (answer.status, answer.body) == (200, {"type": 5})
    assert [each[0] for each in doorway.done] == ["kept"]


def test_an_interaction_is_taken_once(doorway: Doorway) -> None:
    assert doorway.ask(interaction()).status == 202
    again = doorway.ask(interaction())
    assert (again.status, len(doorway.done)) == (409, 2)
    assert doorway.ask(interaction(number=2)).status == 202


def test_the_memory_of_ids_does_not_grow_for_ever(doorway: Doorway) -> None:
    for number in range(1, REMEMBERED + 2):
        doorway.ask(interaction(number=number))
    assert doorway.ask(interaction(number=REMEMBERED + 1)).status == 409
    assert doorway.ask(interaction(number=1)).status == 202


@pytest.mark.parametrize("late", [FRESH_SECONDS, -FRESH_SECONDS, 0.9])
def test_a_timestamp_may_be_five_minutes_off(doorway: Doorway, late: float) -> None:
    assert doorway.ask(interaction(), now=NOW + late).status == 202


@pytest.mark.parametrize("late", [FRESH_SECONDS + 1, -FRESH_SECONDS - 1, 86_400])
def test_an_old_or_early_timestamp_is_refused(doorway: Doorway, late: float) -> None:
    assert doorway.ask(interaction(), now=NOW + late).status == 401


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'"ping"',
        b"[" * 100_000,
        interaction(kind=9),
        interaction(kind=None),
        interaction(type="2"),
        {"type": True},
        {"type": 1.0},
        b'{"type": "\\ud800"}',
        interaction(type=[2]),
        interaction(member=None),
        interaction(member={}),
        interaction(member={"user": {"id": "海"}}),
        interaction(member=None, user="海"),
        interaction(id=None),
        interaction(id=12),
        interaction(id="../../users"),
        interaction(token=None),
        interaction(token="a/../b c"),
        interaction(token="a\r\nHost: b"),
    ],
    ids=lambda told: str(told)[:25],
)
def test_what_is_signed_and_no_interaction_is_refused(doorway: Doorway, told: Any) -> None:
    answer = doorway.ask(told)
    assert answer.status == 400
    assert answer.body["error"]
    assert not doorway.done


def test_a_missing_part_of_the_data_is_the_workers_business(doorway: Doorway) -> None:
    assert doorway.ask(interaction(data=None)).status == 202
    assert doorway.done[1][3] == {"type": 5, "data": {"flags": 64}}


def test_long_options_are_taken_in_and_endless_bodies_are_not(doorway: Doorway) -> None:
    long = interaction(data={"name": "ask", "options": [{"name": "text", "value": "🦀" * 6_000}]})
    assert doorway.ask(long).status == 202
    assert doorway.ask(b" " * (MOST_BYTES + 1)).status == 413


def test_what_a_queue_does_not_carry_is_escaped_and_means_the_same(doorway: Doorway) -> None:
    told = interaction(data={"name": "ask", "value": "a\ufffeb\uffff蟹"})
    doorway.ask(told)
    kept = doorway.done[0][1]
    assert "\ufffe" not in kept
    assert "\uffff" not in kept
    assert json.loads(kept) == told


KNOWN = {
    "agents": [
        {"id": "01mika", "name": "ミカ"},
        {"id": "01kani", "name": "Kani the Crab"},
        {"id": "", "name": "nobody"},
        {"id": "x" * 101, "name": "long id"},
        {"id": "01long", "name": "🦀" * 80},
        {"id": "01none", "name": " "},
    ],
    "models": [{"id": f"openai:gpt-{n}", "name": f"GPT {n}"} for n in range(60)],
}


def typing(name: str, value: Any, depth: int = 0) -> dict[str, Any]:
    """An interaction of somebody who types, in a command or in a subcommand of it."""
    options: Any = [{"name": "text", "value": "x"}, {"name": name, "value": value, "focused": True}]
    for _ in range(depth):
        options = [{"name": "set", "type": 1, "options": options}]
    return interaction(4, data={"name": "ask", "options": options})


def offered(doorway: Doorway, told: Any) -> list[dict[str, str]]:
    answer = doorway.ask(told)
    assert (answer.status, answer.body["type"]) == (200, 8)
    assert not doorway.done
    found: list[dict[str, str]] = answer.body["data"]["choices"]
    return found


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("ミカ", ["01mika"]),
        ("ﾐｶ", ["01mika"]),
        ("カ", ["01mika"]),
        ("CRAB", ["01kani"]),
        ("  kani ", ["01kani"]),
        ("01k", ["01kani"]),
        ("蟹", []),
        ("", ["01mika", "01kani", "01long"]),
    ],
)
def test_agents_are_found_however_their_names_are_written(
    doorway: Doorway, typed: str, found: list[str]
) -> None:
    doorway.choices = KNOWN
    assert [each["value"] for each in offered(doorway, typing("agent", typed))] == found


def test_no_more_is_offered_than_discord_shows(doorway: Doorway) -> None:
    doorway.choices = KNOWN
    found = offered(doorway, typing("model", "gpt", depth=2))
    assert found[:2] == [
        {"name": "GPT 0", "value": "openai:gpt-0"},
        {"name": "GPT 1", "value": "openai:gpt-1"},
    ]
    assert len(found) == 25
    (long,) = offered(doorway, typing("agent", "🦀"))
    assert long["name"] == "🦀" * 50, "Discord counts a crab as two"


@pytest.mark.parametrize(
    "known", [None, {}, {"agents": None}, [], "x", {"agents": [{}]}, {"agents": ["Mika", None]}]
)
def test_nothing_is_offered_where_nothing_is_known(doorway: Doorway, known: Any) -> None:
    doorway.choices = known
    assert offered(doorway, typing("agent", "")) == []


def test_who_types_hears_nothing_of_trouble(doorway: Doorway) -> None:
    doorway.choices_fail = True
    assert offered(doorway, typing("agent", "ミ")) == []


@pytest.mark.parametrize(
    "data", [None, {}, {"options": "x"}, {"options": [1]}, {"options": [{"name": "agent"}]}]
)
def test_nothing_is_offered_to_who_types_nothing_we_know(doorway: Doorway, data: Any) -> None:
    doorway.choices = KNOWN
    assert offered(doorway, interaction(4, data=data)) == []
    assert offered(doorway, typing("theme", "x")) == []


def test_an_agent_is_named_only_where_it_is_placed(doorway: Doorway) -> None:
    here, elsewhere = ["42"], ["43", "44"]
    names: tuple[tuple[str, list[str]], ...]
    names = (("01a", []), ("01b", here), ("01c", elsewhere))
    doorway.choices = {"agents": [{"id": i, "name": i, "channels": c} for i, c in names]}
    asked = typing("agent", "")
    in_server = asked | {"channel_id": "42", "guild_id": "7"}
    assert [each["value"] for each in offered(doorway, in_server)] == ["01a", "01b"]
    private = {name: value for name, value in in_server.items() if name != "guild_id"}
    assert len(offered(doorway, private)) == 3
    among_others = private | {"context": 2}
    assert [each["value"] for each in offered(doorway, among_others)] == ["01a", "01b"]
    assert len(offered(doorway, private | {"context": 1})) == 3


@pytest.mark.parametrize(
    ("guild", "count"),
    [({"guild_id": "7"}, 3), ({"guild_id": "8"}, 0), ({}, 0), ({"context": 1}, 0)],
)
def test_where_servers_are_listed_nothing_is_named_outside_them(
    doorway: Doorway, guild: dict[str, Any], count: int
) -> None:
    asked = typing("agent", "")
    del asked["guild_id"]
    doorway.choices = KNOWN | {"guilds": ["7", "9"]}
    assert len(offered(doorway, asked | guild)) == count
    doorway.choices = KNOWN | {"guilds": []}
    assert len(offered(doorway, asked | guild)) == 3


@pytest.mark.parametrize("encoded", [False, True])
def test_an_event_is_read_to_the_byte(doorway: Doorway, encoded: bool) -> None:  # noqa: FBT001
    body = json.dumps(interaction(), ensure_ascii=False, indent=1).encode()
    content = base64.b64encode(body).decode() if encoded else body.decode()
    headers = {
        name.title(): text for name, text in doorway.signer.headers(str(int(NOW)), body).items()
    }
    event = {"headers": headers, "body": content, "isBase64Encoded": encoded}
    assert discord_interaction_headers_and_body(event)[1] == body
    assert doorway.answer(*discord_interaction_headers_and_body(event)).status == 202


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"headers": None, "body": None},
        {"headers": {}, "body": "%%", "isBase64Encoded": True},
        {"headers": {}, "body": "\ud800"},
    ],
)
def test_an_event_without_a_request_is_refused(doorway: Doorway, event: Any) -> None:
    assert (
        interaction_http_result(doorway.answer(*discord_interaction_headers_and_body(event)))[
            "statusCode"
        ]
        == 401
    )
