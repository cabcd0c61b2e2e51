"""The first characters of an id stand for it wherever an id does, if they are those of one only."""

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import agent_view, session_view, story_view

ONE, TWO = "abcd1111111111111111111111", "abcd2222222222222222222222"

PLACES = {
    ("turns", "show", "abcd1"): ("turns", f"GET /turns/{ONE}"),
    ("turns", "cancel", "abcd1"): ("turns", f"POST /turns/{ONE}/cancel"),
    ("turns", "rate", "abcd1", "up"): ("turns", f"POST /turns/{ONE}/feedback"),
    ("costs", "--turn", "abcd1"): ("turns", "GET /costs/explain"),
    ("sessions", "end", "abcd1"): ("sessions", f"POST /sessions/{ONE}/end"),
    ("approvals", "reject", "abcd1"): ("approvals", f"POST /approvals/{ONE}/decide"),
    ("admin", "keys", "revoke", "abcd1"): ("keys", f"DELETE /keys/{ONE}"),
    ("learning", "undo", "Ada", "abcd1"): (
        "agents/ada-id/changes",
        f"POST /agents/ada-id/changes/{ONE}/undo",
    ),
    ("memory", "show", "abcd1", "--agent", "Ada"): (
        "agents/ada-id/memory/curated",
        f"GET /agents/ada-id/memory/curated/{ONE}",
    ),
    ("approvals", "revoke", "Ada", "abcd1"): (
        "agents/ada-id/grants",
        f"DELETE /agents/ada-id/grants/{ONE}",
    ),
    ("agents", "retire", "abcd1", "--yes"): ("agents", f"DELETE /agents/{ONE}"),
}


def asked(server: Server) -> set[str]:
    return {f"{each.method} {each.url.path.removeprefix('/api')}" for each in server.requests}


@pytest.mark.parametrize("args", PLACES, ids=" ".join)
def test_the_beginning_of_an_id_is_enough(
    program: Program, server: Server, args: tuple[str, ...]
) -> None:
    listed, wanted = PLACES[args]
    server.on("GET /agents", page(agent_view("Ada")))
    rows = [{"id": each, "turn_id": "other"} for each in (ONE, TWO)]
    if listed == "agents":
        rows = [agent_view("Ada") | row | {"name": row["id"]} for row in rows]
    server.on(f"GET /{listed}", page(*rows))
    program.run("--json", *args)
    assert wanted in asked(server)


@pytest.mark.parametrize("args", PLACES, ids=" ".join)
def test_the_beginning_of_two_ids_names_both(
    program: Program, server: Server, args: tuple[str, ...]
) -> None:
    listed, wanted = PLACES[args]
    short = tuple("abcd" if each == "abcd1" else each for each in args)
    server.on("GET /agents", page(agent_view("Ada")))
    rows = [agent_view("Ada") | {"id": each, "name": each} for each in (ONE, TWO)]
    server.on(f"GET /{listed}", page(*rows))
    refused = program.run("--json", *short)
    assert refused.code != 0
    assert all(each in refused.err for each in ("2 ids begin with abcd", ONE, TWO))
    assert wanted not in asked(server)


def test_a_whole_id_and_one_that_begins_none_are_asked_for_as_they_are(
    program: Program, server: Server
) -> None:
    server.on(f"GET /turns/{ONE}", ok(story_view()))
    program.run("--json", "turns", "show", ONE)
    assert asked(server) == {f"GET /turns/{ONE}"}
    server.on("GET /turns", page())
    server.on("GET /sessions/efgh", ok(session_view("ada-id")))
    missing = program.run("turns", "show", "efgh")
    assert "GET /turns/efgh" in asked(server)
    assert missing.code != 0


def test_the_turn_that_waits_stands_for_its_approval(program: Program, server: Server) -> None:
    waiting = {"id": ONE, "turn_id": TWO, "what": "x", "state": "pending"}
    server.on("GET /approvals", page(waiting))
    server.on(f"POST /approvals/{TWO}/decide", problem(404, "there is no such approval"))
    server.on(f"POST /approvals/{ONE}/decide", ok(waiting))
    for wanted in (TWO, TWO[:6], ONE):
        decided = program.run("approvals", "reject", wanted)
        assert (decided.code, decided.err) == (0, "")


@pytest.mark.parametrize(
    "args",
    [
        ("memory", "forget", "--agent", "Ada", "--session", "abcd1", "--yes"),
        ("memory", "search", "海", "--agent", "Ada", "--session", "abcd1"),
        (
            "schedules",
            "add",
            "Ada",
            "海",
            "--when",
            "@every 2h",
            "--session",
            "abcd1",
            "--text",
            "a",
        ),
    ],
    ids=" ".join,
)
def test_the_beginning_of_a_sessions_id_is_enough_for_an_option(
    program: Program, server: Server, args: tuple[str, ...]
) -> None:
    server.on("GET /agents", page(agent_view("Ada")))
    server.on("GET /sessions", page(*({"id": each, "turn_id": "other"} for each in (ONE, TWO))))
    program.run("--json", *args)
    said = [f"{each.url.query.decode()}{each.content.decode()}" for each in server.requests]
    assert any(ONE in each for each in said)
