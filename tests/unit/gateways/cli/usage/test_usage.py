"""Money at the terminal: what calls came to, where a turn's money went, what may be spent."""

from typing import Any

import pytest

from opencrab.domain.money.budget import Limits
from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import agent_view

ADA, AOI = agent_view("Ada"), agent_view("葵", id="aoi")
LIMITS = Limits().model_dump(mode="json")


def summary(cost: int, calls: int = 2, **changes: Any) -> dict[str, Any]:
    """What some calls came to."""
    facts = {"calls": calls, "answered": calls, "failed": 0, "unknown": 0}
    facts |= {"input_tokens": 1_000, "output_tokens": 10, "cost_micro_usd": cost}
    facts |= {"cached_tokens": 380}
    return {**facts, **changes}


def report(
    total: dict[str, Any], *, complete: bool = True, listed: str | None = None, **groups: Any
) -> Any:
    """An agent's report."""
    facts = {"period": "all", "since": None, "until": "2026-02-17T09:00:00Z"}
    facts |= {"calls_listed_since": listed}
    return ok({**facts, "complete": complete, "total": total, "groups": groups})


@pytest.fixture
def reports(server: Server) -> Server:
    """Two agents who spent money."""
    server.on("GET /agents", page(ADA, AOI))
    models = {"openai:gpt": summary(1_250), "ollama:llama": summary(0)}
    server.on("GET /agents/ada-id/llm/metrics/summary", report(summary(1_250), model=models))
    failed = summary(3, failed=1, unknown=1)
    server.on("GET /agents/aoi/llm/metrics/summary", report(failed, purpose={}))
    return server


@pytest.mark.parametrize(
    ("language", "head", "total"),
    [
        ("en", ["agent", "calls", "failed"], "total"),
        ("ja", ["エージェント", "呼び出し", "失敗"], "合計"),
    ],
)
def test_each_agents_calls_are_summed_up(
    program: Program, reports: Server, language: str, head: list[str], total: str
) -> None:
    rows = [row.split() for row in program.run("--language", language, "costs").out.splitlines()]
    assert rows[0][:3] == head
    assert rows[1:] == [
        ["Ada", "2", "0", "1,000", "38%", "10", "$0.00125"],
        ["葵", "2", "2", "1,000", "38%", "10", "$0.000003"],
        [total, "4", "2", "2,000", "38%", "20", "$0.001253"],
    ]
    assert reports.requests[-1].url.params["period"] == "last_month"


def test_without_input_there_is_no_share_of_it(program: Program, reports: Server) -> None:
    nothing = summary(0, input_tokens=0, cached_tokens=0)
    reports.on("GET /agents/aoi/llm/metrics/summary", report(nothing))
    rows = [row.split() for row in program.run("costs", "--agent", "葵").out.splitlines()]
    assert rows[1][3:6] == ["0", "–", "10"]


def test_one_agents_calls_are_sorted(program: Program, reports: Server) -> None:
    args = ("costs", "--agent", "Ada", "--period", "last_day", "--by", "model")
    rows = [row.split() for row in program.run(*args).out.splitlines()]
    assert rows[0][:2] == ["agent", "model"]
    assert [row[1] for row in rows[1:3]] == ["openai:gpt", "ollama:llama"]
    query = reports.requests[-1].url.params
    assert (query["period"], query["group_by"]) == ("last_day", "model")


def test_a_script_gets_a_list_of_reports(program: Program, reports: Server) -> None:
    found = program.run("costs", "--json").json
    assert [(one["agent_id"], one["agent"]) for one in found] == [("ada-id", "Ada"), ("aoi", "葵")]
    assert found[0]["total"]["cost_micro_usd"] == 1_250


def test_a_report_that_is_not_complete_says_so(program: Program, reports: Server) -> None:
    reports.on("GET /agents/aoi/llm/metrics/summary", report(summary(3), complete=False))
    said = program.run("costs", "--agent", "葵")
    assert (said.code, "not all calls are counted yet" in said.err) == (0, True)


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "single calls before 2025-01-13 (UTC)"), ("ja", "2025-01-13(UTC)より前の呼び出し")],
)
def test_a_report_says_from_when_on_single_calls_are_listed(
    program: Program, reports: Server, language: str, said: str
) -> None:
    listed = report(summary(3), listed="2025-01-13T00:00:00Z")
    reports.on("GET /agents/aoi/llm/metrics/summary", listed)
    ran = program.run("--language", language, "costs", "--agent", "葵")
    assert (ran.code, said in ran.err) == (0, True)


@pytest.mark.parametrize("args", [("--by", "agent"), ("--period", "last_year")], ids=" ".join)
def test_only_real_groups_and_periods_are_asked_for(
    program: Program, server: Server, args: tuple[str, ...]
) -> None:
    assert program.run("costs", *args).code == 2
    assert server.requests == []


def call(**changes: Any) -> dict[str, Any]:
    """A call that was counted."""
    facts = {
        "n": 1,
        "provider": "openai",
        "model": "gpt",
        "purpose": "conversation",
        "state": "completed",
        "fault": None,
        "chosen_by": "default",
        "reserved_micro_usd": 50_000,
        "cost_micro_usd": 2_001,
        "shares": [
            share("input", 1_000, 2_000_000, 2_000),
            share("rounding", 0, 0, 1),
        ],
        "ground": "counted",
    }
    return {**facts, **changes}


def share(kind: str, tokens: int, price: int, cost: int) -> dict[str, Any]:
    """A part of a cost."""
    return {"kind": kind, "tokens": tokens, "per_million": price, "micro_usd": cost}


def explanation(*calls: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A turn that drew ten cents."""
    facts = {
        "turn_id": "t1",
        "agent_id": "ada-id",
        "session_id": "s1",
        "status": "completed",
        "calls": list(calls),
        "scopes": ["agent:ada-id", "installation"],
        "drawn": [{"day": "2026-02-17", "micro_usd": 100_000, "scopes": []}],
        "drawn_micro_usd": 100_000,
        "spent_micro_usd": 52_001,
        "held_micro_usd": 0,
        "returned_micro_usd": 47_999,
        "adds_up": True,
        "complete": True,
    }
    return {**facts, **changes}


LOST = call(
    state="unknown",
    cost_micro_usd=50_000,
    shares=[share("unknown", 0, 0, 50_000)],
    ground="unknown",
)


@pytest.mark.parametrize(
    ("language", "lines"),
    [
        (
            "en",
            [
                "turn t1 (completed)",
                "1 · openai:gpt · conversation · completed · chosen by: default",
                "  input: 1,000 tokens at $2.00 per million = $0.002",
                "  rounding: $0.000001",
                "  cost $0.002001, reserved $0.05",
                "2 · openai:gpt · conversation · unknown · chosen by: default",
                "  unknown: $0.05",
                "  the worker died during the call, which may have been billed: "
                "the full reservation is charged",
                "the calls add up to the turn's cost",
            ],
        ),
        (
            "ja",
            [
                "ターン t1(完了)",
                "1 · openai:gpt · 会話 · 完了 · 選択: 既定",
                "  入力: 1,000 トークン × 100万あたり $2.00 = $0.002",
                "  端数: $0.000001",
                "  呼び出し中に処理が中断し、課金された可能性があるため、全額を計上",
                "呼び出しの合計は、ターンの支出と一致しています",
            ],
        ),
    ],
)
def test_a_turns_money_is_told_call_by_call(
    program: Program, server: Server, language: str, lines: list[str]
) -> None:
    server.on("GET /costs/explain", ok(explanation(call(), LOST)))
    said = program.run("--language", language, "costs", "--turn", "t1")
    shown = said.out.splitlines()
    assert [line for line in lines if line not in [row.rstrip() for row in shown]] == []
    assert "$0.10 (2026-02-17 $0.10; agent:ada-id, installation)" in said.out
    assert server.requests[0].url.params["turn"] == "t1"


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize(
    "ground",
    ["reported", "free", "uncounted", "perhaps_billed", "not_billed", "running", "new one"],
)
def test_every_reason_has_its_words(
    program: Program, server: Server, ground: str, language: str
) -> None:
    found = explanation(call(ground=ground, shares=[], fault="timeout", state="failed"))
    server.on("GET /costs/explain", ok(found))
    said = program.run("--language", language, "costs", "--turn", "t1")
    assert said.code == 0
    assert ("timeout" in said.out) is (language == "en")


def test_sums_that_do_not_hold_are_not_hidden(program: Program, server: Server) -> None:
    broken = explanation(adds_up=False, returned_micro_usd=-5)
    server.on("GET /costs/explain", ok(broken))
    said = program.run("costs", "--turn", "t1")
    assert "drawn in addition" in said.out
    assert "the sums do not match; please report this with the turn's id" in said.err
    assert program.run("costs", "--turn", "t1", "--json").json == broken


@pytest.mark.parametrize("adds_up", [True, False])
def test_of_a_ledger_with_gaps_nothing_else_is_said(
    program: Program,
    server: Server,
    adds_up: bool,  # noqa: FBT001
) -> None:
    server.on("GET /costs/explain", ok(explanation(adds_up=adds_up, complete=False)))
    said = program.run("costs", "--turn", "t1")
    assert said.err == "the ledger lacks some calls of this turn\n"
    assert "add up" not in said.out


def test_an_unknown_turn_is_a_sentence(program: Program, server: Server) -> None:
    server.on("GET /costs/explain", problem(404, "there is no turn 't9'"))
    refused = program.run("costs", "--turn", "t9")
    assert (refused.code, refused.err) == (5, "opencrab: there is no turn 't9'\n")


def budgets(**changes: Any) -> dict[str, Any]:
    """The configured budgets, of which a little is drawn."""
    drawn = {"scope": "installation", "drawn_micro_usd": 12, "limit_micro_usd": 5_000_000}
    facts = {"limits": LIMITS, "configured": LIMITS, "changed": [], "day": "2026-02-17"}
    return {**facts, "drawn": [drawn], **changes}


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", ["none", "drawn on 2026-02-17"]), ("ja", ["なし", "2026-02-17 の使用額"])],
)
def test_budgets_are_shown_with_what_is_drawn(
    program: Program, server: Server, language: str, said: list[str]
) -> None:
    server.on("GET /budgets", ok(budgets()))
    out = program.run("--language", language, "budgets").out
    assert [word for word in said if word not in out] == []
    assert ["turn", "$0.50", "$0.50"] in [row.split() for row in out.splitlines()]
    assert ["heartbeat", "25%", "25%"] in [row.split() for row in out.splitlines()]
    assert program.run("budgets", "--json").json == budgets()


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "held for unconfirmed calls: $0.000009"),
        ("ja", "課金が未確認の呼び出しの分: $0.000009"),
    ],
)
def test_what_is_held_for_calls_that_were_perhaps_billed_is_a_line(
    program: Program, reports: Server, language: str, line: str
) -> None:
    reports.on("GET /budgets", ok(budgets(unconfirmed_micro_usd=9)))
    assert line in program.run("--language", language, "budgets").out
    lost = summary(12, unconfirmed_micro_usd=9)
    reports.on("GET /agents/aoi/llm/metrics/summary", report(lost))
    assert line in program.run("--language", language, "costs").out
    reports.on("GET /budgets", ok(budgets()))
    assert line.partition(":")[0] not in program.run("--language", language, "budgets").out


def test_limits_are_set_in_dollars_and_returned(program: Program, server: Server) -> None:
    server.on("GET /agents", page(ADA))
    server.on("PUT /budgets", ok(budgets()))
    server.on("GET /budgets", ok(budgets()))
    program.run("budgets", "--set", "turn=0.25", "--set", "session=none", "--set", "heartbeat=10")
    program.run("budgets", "--reset")
    program.run("budgets", "--reset", "--set", "block=0.000001")
    program.run("budgets", "--agent", "Ada")
    assert server.sent("PUT") == [
        {
            "limits": {
                "turn_micro_usd": 250_000,
                "session_micro_usd": 0,
                "heartbeat_percent": 10,
            }
        },
        {"limits": None},
        {"limits": {**dict.fromkeys(LIMITS), "block_micro_usd": 1}},
    ]
    assert server.requests[-1].url.params["agent"] == "ada-id"


@pytest.mark.parametrize(
    "limit",
    ["turn", "turn=", "turn=-1", "turn=NaN", "turn=sNaN", "turn=Infinity", "turn=1e99",
     "turn=1e999999", "turn=1e-999999", "turn=1e-9999999", "turn=1e99999999999999999999",
     "turn=0.0000001", "turn=0.25000000000000000000000000000000001", "turn=1000000.000001",
     "month=1", "=1", "turn=none", "heartbeat=1.5", "heartbeat=101", "turn=１円", ""],
)  # fmt: skip
def test_a_limit_that_cannot_be_is_not_sent(program: Program, server: Server, limit: str) -> None:
    said = program.run("budgets", "--set", limit)
    assert (said.code, "Traceback" in said.err) == (2, False)
    assert server.requests == []


@pytest.mark.parametrize(
    ("language", "limit", "told"),
    [
        ("en", "heartbeat=1.5", "whole percentage"),
        ("ja", "heartbeat=1.5", "%"),
        ("en", "turn=x", "dollars"),
        ("ja", "turn=x", "米ドル"),
    ],
)
def test_a_limit_is_told_in_its_own_unit(
    program: Program, server: Server, language: str, limit: str, told: str
) -> None:
    said = program.run("--language", language, "budgets", "--set", limit).err
    assert told in said
    assert ("dollars" in said or "米ドル" in said) is limit.startswith("turn")


@pytest.mark.parametrize("change", [("--set", "turn=1"), ("--reset",)], ids=" ".join)
@pytest.mark.parametrize(("language", "told"), [("en", "all agents"), ("ja", "全エージェント共通")])
def test_limits_of_one_agent_are_set_elsewhere(
    program: Program, server: Server, language: str, told: str, change: tuple[str, ...]
) -> None:
    said = program.run("--language", language, "budgets", "--agent", "Ada", *change)
    assert said.code == 2
    assert told in said.err
    assert "opencrab agents edit" in " ".join(said.err.replace("│", " ").split())
    assert server.requests == []


@pytest.mark.parametrize("beside", [("--agent", "Ada"), ("--by", "model")])
def test_a_turn_is_explained_by_itself(
    program: Program, server: Server, beside: tuple[str, ...]
) -> None:
    said = program.run("costs", "--turn", "t1", *beside)
    assert said.code == 2
    assert "--turn cannot be combined with --agent or --by" in " ".join(
        said.err.replace("│", " ").split()
    )
    assert server.requests == []
