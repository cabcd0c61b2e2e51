"""What-if at the terminal: what was, what would be, and what nobody knows."""

from typing import Any

import pytest
from rich.cells import cell_len

from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import FREE
from opencrab.domain.statistics.confidence import Estimate
from opencrab.domain.usage.ledger import Period
from opencrab.engine.insight.what_if import AliasChange, CallTotals, Replayed, WhatIf
from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import NOW, agent_view

LONG = "anthropic:claude-sonnet-4-5-20250929"
ROUTE = "POST /agents/a1/whatif"
NOW_DONE = CallTotals(
    cost_micro_usd=1_230_000, quality=Estimate(n=40, mean=0.71, low=0.6, high=0.8), latency_ms=1_400
)
THEN = CallTotals(
    cost_micro_usd=230_000, quality=Estimate(n=9, mean=0.5, low=0.1, high=0.9), latency_ms=90
)
FOUND = WhatIf(
    agent_id="a1",
    period=Period.LAST_WEEK,
    since=NOW,
    until=NOW,
    as_of="2026-01-04",
    meant=(AliasChange(alias="smart", model=LONG, other="openai:gpt-5-mini", price=FREE),),
    calls=20_000,
    moved=1_200,
    uncounted=2,
    complete=False,
    now=NOW_DONE,
    then=THEN,
    saved_micro_usd=1_000_000,
    quality_share=0.8,
    latency_share=1.0,
    tasks=(
        Replayed(
            purpose=Use.CONVERSATION,
            task_type="code",
            model=LONG,
            other="openai:gpt-5-mini",
            calls=1_200,
            uncounted=2,
            now=NOW_DONE,
            then=THEN,
        ),
    ),
)
SMART = ("whatif", "Ada", "--alias", "smart=openai:gpt-5-mini")


@pytest.fixture(autouse=True)
def told(server: Server) -> None:
    """There is one agent."""
    server.on("GET /agents", page(agent_view("Ada", id="a1")))
    server.on(ROUTE, ok(FOUND.model_dump(mode="json")))


def said(program: Program, *args: str, **changes: Any) -> str:
    program.server.on(ROUTE, ok(FOUND.replaced(**changes).model_dump(mode="json")))
    return program.run(*args, *SMART).out


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en",
            (
                "Ada: 1,200 of 20,000 calls",
                f"smart: {LONG} → openai:gpt-5-mini",
                "→ openai:gpt-5-mini",
                "50% (10 to 90)",
                "0.090 s",
                "all calls: $1.23 → $0.23 ($1.00 less)",
                "71% (60 to 80) → 50% (10 to 90) (known for 80% of these calls)",
                "2 calls keep",
            ),
        ),
        (
            "ja",
            (
                "20,000 回のうち 1,200 回",
                "会話",
                "$1.00 の節約",
                "50%(10〜90 の間)",
                "2 回はトークン数が不明",
            ),
        ),
    ],
)
def test_what_would_be_is_told_beside_what_was(
    program: Program, server: Server, language: str, words: tuple[str, ...]
) -> None:
    out = said(program, "--language", language)
    assert [word for word in words if word not in out] == []
    sat = program.sit("--language", language, *SMART, COLUMNS="100")
    assert max(map(cell_len, sat.out.splitlines())) <= 100
    assert "20,000" in sat.err
    body = {"aliases": {"smart": "openai:gpt-5-mini"}, "period": "last_week"}
    assert server.sent("POST")[0] == body
    assert program.run(*SMART, "--json").json == FOUND.model_dump(mode="json")


def test_what_nobody_knows_is_said(program: Program) -> None:
    bare = said(
        program,
        then=CallTotals(cost_micro_usd=1_240_000),
        saved_micro_usd=-10_000,
        quality_share=0.0,
        uncounted=0,
    )
    assert "$0.01 more" in bare
    assert "expected quality: unknown; the other model has not been evaluated on this work" in bare
    assert "expected latency per call" not in bare
    assert "difference $0.00" in said(program, saved_micro_usd=0)
    assert "no call of this period" in said(program, moved=0, tasks=())


@pytest.mark.parametrize("form", ["smart", "=openai:x", "smart="])
def test_what_is_no_pair_is_refused_and_an_unknown_price_is_named(
    program: Program, server: Server, form: str
) -> None:
    refused = program.run("whatif", "Ada", "--alias", form)
    assert (refused.code, "smart=openai:gpt-5-mini" in refused.err) == (2, True)
    server.on(ROUTE, problem(422, "the price of 'openai:x' is unknown", cure="set it"))
    unknown = program.run("whatif", "Ada", "--alias", "smart=openai:x")
    assert (unknown.code, "the price of 'openai:x' is unknown" in unknown.err) == (2, True)
