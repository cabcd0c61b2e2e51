"""`opencrab costs reconcile`: what providers say, what the owner says, and what stays held."""

import json
from typing import Any

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import agent_view

ADA = agent_view("Ada")


def view(n: int = 1, **changes: Any) -> dict[str, Any]:
    """What the server says of one call after it was asked."""
    call = {
        "metrics_id": f"20260217T090000.000000Z-t{n}-0001",
        "turn_id": f"t{n}",
        "agent_id": "ada-id",
        "session_id": "s1",
        "at": "2026-02-17T09:00:00Z",
        "provider": "openrouter",
        "model": "sea/crab",
        "purpose": "conversation",
        "state": "failed",
        "fault": "timeout",
        "reserved_micro_usd": 12_300,
        "held_micro_usd": 12_300,
        "provider_call_id": "",
    }
    facts = {
        "call": call,
        "settled": False,
        "cost_micro_usd": 12_300,
        "returned_micro_usd": 0,
        "settled_by": None,
        "settled_at": None,
        "problem": "no lookup 🦀",
        "cure": "see the bill",
    }
    return facts | changes


def settled(n: int = 1, cost: int = 300, **changes: Any) -> dict[str, Any]:
    facts = {"settled": True, "cost_micro_usd": cost, "returned_micro_usd": 12_300 - cost}
    return view(n, **facts, settled_by="provider:openrouter", problem="", cure="", **changes)


@pytest.fixture
def calls(server: Server) -> Server:
    """Two unconfirmed calls; the provider knows the first."""
    server.on("GET /agents", page(ADA))
    items = [view(1)["call"], view(2)["call"]]
    server.on("GET /costs/unconfirmed", ok({"items": items, "complete": True}))
    server.on("POST /costs/reconcile", ok(settled(1)), ok(view(2)))
    return server


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (
            "en",
            [
                "settled by provider:openrouter: it cost $0.0003; $0.012 went back",
                "held: $0.0123 (no lookup 🦀)",
                "--call ID --cost USD",
            ],
        ),
        ("ja", ["費用は $0.0003 でした", "確保したまま: $0.0123", "--not-billed"]),
    ],
)
def test_providers_are_asked_and_what_stays_held_is_told(
    program: Program, calls: Server, language: str, said: list[str]
) -> None:
    out = program.run("--language", language, "costs", "reconcile").out
    assert [word for word in said if word not in out] == []
    assert "20260217T090000.000000Z-t2-0001" in out
    bodies = [json.loads(one.content) for one in calls.requests if one.method == "POST"]
    assert [body["call"] for body in bodies] == [view(n)["call"]["metrics_id"] for n in (1, 2)]
    assert not any("cost_micro_usd" in body for body in bodies)


def test_all_of_it_is_told_to_scripts(program: Program, calls: Server) -> None:
    found = program.run("costs", "reconcile", "--json").json
    assert found == {"settled": [settled(1)], "held": [view(2)], "complete": True}


@pytest.mark.parametrize(
    ("language", "said", "note"),
    [
        ("en", "no money is held for unconfirmed calls", "not all calls are counted yet"),
        ("ja", "課金が未確認の呼び出しはありません", "まだすべての呼び出しを集計できていません"),
    ],
)
def test_nothing_that_is_held_is_a_line(
    program: Program, server: Server, language: str, said: str, note: str
) -> None:
    server.on("GET /agents", page(ADA))
    server.on("GET /costs/unconfirmed", ok({"items": [], "complete": False}))
    ran = program.run("--language", language, "costs", "reconcile", "--period", "all")
    assert ran.out == said + "\n"
    assert note in ran.err
    assert server.requests[-1].url.params["period"] == "all"


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        (["--cost", "0.0123"], {"cost_micro_usd": 12_300, "above_reservation": False}),
        (["--not-billed"], {"cost_micro_usd": 0, "above_reservation": False}),
        (
            ["--cost", "1", "--above-reservation"],
            {"cost_micro_usd": 1_000_000, "above_reservation": True},
        ),
        ([], {"above_reservation": False}),
    ],
)
def test_one_call_is_settled_by_the_owners_word(
    program: Program, server: Server, options: list[str], sent: dict[str, Any]
) -> None:
    server.on("POST /costs/reconcile", ok(settled()))
    found = program.run("costs", "reconcile", "--call", "c1", *options, "--json").json
    assert found == settled()
    assert json.loads(server.requests[-1].content) == {"call": "c1", **sent}


@pytest.mark.parametrize(
    ("language", "above", "again"),
    [
        ("en", "it cost $0.0124, $0.0001 more than was reserved", "nothing is held for this call"),
        ("ja", "確保した額を $0.0001 上回りました", "確保している金額はありません"),
    ],
)
def test_a_cost_above_the_reservation_is_said_to_be_one(
    program: Program, server: Server, language: str, above: str, again: str
) -> None:
    answered = view(problem="")
    answered["call"] |= {"held_micro_usd": 0}
    server.on("POST /costs/reconcile", ok(settled(cost=12_400)), ok(answered))
    command = ("--language", language, "costs", "reconcile", "--call", "c1")
    assert above in program.run(*command, "--cost", "0.0124", "--above-reservation").out
    assert again in program.run(*command).out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--cost", "1"], "name the call"),
        (["--not-billed"], "name the call"),
        (["--call", "c1", "--cost", "1", "--not-billed"], "either --cost or --not-billed"),
        (["--call", "c1", "--cost", "much"], "US dollars"),
        (["--call", "c1", "--cost", "-1"], "US dollars"),
        (["--call", "c1", "--cost", "0.0000001"], "at most six decimals"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    program: Program, server: Server, options: list[str], told: str
) -> None:
    ran = program.run("costs", "reconcile", *options)
    assert (ran.code, told in ran.err) == (2, True), ran.err
    assert server.requests == []


def test_what_the_server_refuses_is_told(program: Program, server: Server) -> None:
    server.on("POST /costs/reconcile", problem(409, "already settled at 5", cure="it counts"))
    ran = program.run("costs", "reconcile", "--call", "c1", "--not-billed")
    assert "already settled at 5" in ran.err
