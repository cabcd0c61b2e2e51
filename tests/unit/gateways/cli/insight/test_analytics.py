"""Analytics at the terminal: numbers with units and intervals, and clear words for too little."""

from datetime import timedelta
from typing import Any

import pytest
from rich.cells import cell_len

from opencrab.domain.insight.calibration import CalibrationCurve, CalibrationPoint
from opencrab.domain.insight.figures import Figures
from opencrab.domain.insight.recommendations import (
    Analysis,
    Category,
    Focus,
    Improvement,
    Recommendation,
)
from opencrab.domain.models.routing import Use
from opencrab.domain.skills.skill import SkillStatus, SourceType
from opencrab.domain.statistics.confidence import Estimate
from opencrab.domain.turn.turn import Trigger, TurnStatus
from opencrab.domain.usage.ledger import Grouping, Period
from opencrab.engine.insight.llm_analytics import (
    DayOfUse,
    LlmAnalytics,
    ShareOfUse,
    TurnFigures,
    UsageAnalytics,
    WeekOfQuality,
    WeekOfUse,
)
from opencrab.engine.insight.measures import LITTLE, Measure
from opencrab.engine.insight.memory_analytics import (
    MemoryAnalytics,
    Recalling,
    RelationGraph,
    UselessMemory,
)
from opencrab.engine.insight.skill_analytics import (
    MeasuredSkill,
    SkillAnalytics,
    TrialOf,
    WeekOfLearning,
)
from tests.unit.gateways.cli.server import Program, Server, ok, page
from tests.unit.gateways.cli.views import NOW, agent_view

LONG = "anthropic:claude-sonnet-4-5-20250929"
PLACE = "/agents/a1/analytics"
QUALITY = Estimate(n=40, mean=0.71, low=0.6, high=0.8)
EFFECT = Measure(points=12.4, low=3.1, high=21.6, given=40, held=38, helps=0.99)
FIGURES = Figures(
    calls=12_345,
    failed=67,
    share=0.9,
    input_tokens=1_000_000,
    output_tokens=90_000,
    cost_micro_usd=1_230_000,
    mean_latency_ms=1_234.5,
    quality=QUALITY,
    cost_efficiency=7_125.4,
)
FREE = FIGURES.replaced(cost_micro_usd=0, quality=None, cost_efficiency="free", calls=5)
TURNS = TurnFigures(
    since=NOW,
    complete=False,
    turns=24,
    spoke=20,
    spoke_a_day=3.25,
    triggers={Trigger.MESSAGE: 20, Trigger.HEARTBEAT: 4},
    statuses={TurnStatus.COMPLETED: 24},
)
USAGE = UsageAnalytics(
    agent_id="a1",
    period=Period.LAST_WEEK,
    since=NOW,
    until=NOW + timedelta(days=7),
    as_of="2026-01-11",
    totals=FIGURES,
    days=(DayOfUse(day="2026-01-05", calls=9, failed=1, cost_micro_usd=5, turns=None, spoke=None),),
    weeks=(WeekOfUse(week="2026-W02", calls=9, cost_micro_usd=5),),
    models=(
        ShareOfUse(model=LONG, calls=9, cost_micro_usd=5, share_of_calls=0.9, share_of_cost=None),
    ),
    turns=TURNS,
)
SKILL = MeasuredSkill(
    name="good-questions",
    title="good-questions",
    status=SkillStatus.CANDIDATE,
    waits=False,
    source_type=SourceType.EXPERIENCE,
    uses=41,
    last_used_at=NOW,
    created_at=NOW,
    effect=EFFECT,
    by_task={"code": EFFECT},
    trial=TrialOf(turns=78, least_turns=20, most_turns=200, withheld_percent=50, pinned=False),
)
SKILLS = SkillAnalytics(
    agent_id="a1",
    as_of="2026-01-11",
    statuses={SkillStatus.CANDIDATE: 1},
    skills=(SKILL, SKILL.replaced(name="新しい技", effect=Measure(reason=LITTLE), trial=None)),
    weeks=(WeekOfLearning(week="2026-W02", learned=2, promoted=1, retired=0, taken_back=0),),
    reason=None,
)
LLM = LlmAnalytics(
    agent_id="a1",
    as_of=None,
    analysis=Analysis(
        period=Period.LAST_WEEK,
        since=NOW,
        until=NOW,
        group_by=Grouping.MODEL,
        focus=Focus.ALL,
        totals=FIGURES,
        groups={LONG: FIGURES, "ollama:llama": FREE},
        by_model={LONG: FIGURES},
        by_purpose={"conversation": FIGURES},
        tasks={f"conversation/code/{LONG}": FIGURES},
        quality_by_model={LONG: QUALITY},
        recommendations=(
            Recommendation(
                category=Category.COST,
                purpose=Use.CONVERSATION,
                task_type="code",
                current=LONG,
                suggestion="fast",
                expected_improvement=Improvement(quality=0.0, cost_saved=0.5),
                confidence=0.93,
            ),
        ),
    ),
    weeks=(WeekOfQuality(week="2026-W02", turns=50, judged=40, quality=QUALITY, reason=None),),
    weeks_since=NOW,
    calibration={
        LONG: CalibrationCurve(
            points=(CalibrationPoint(said=0.9, came_to=0.6, turns=9),), weight=0.4
        )
    },
    reason=None,
)
MEMORY = MemoryAnalytics(
    agent_id="a1",
    as_of="2026-01-11",
    recalled=Recalling(
        memories=40,
        found=90,
        useful=12,
        junk=6,
        junk_rate=0.15,
        useless=tuple(UselessMemory(id=f"m{n}", found=9) for n in range(6)),
    ),
    effect=EFFECT,
    withheld_percent=10,
    graph=RelationGraph(
        nodes_in_all=7, edges_in_all=5, nodes=(), edges=(), people=(), people_complete=True
    ),
    reason=None,
)
PARTS = {"usage": USAGE, "skills": SKILLS, "llm": LLM, "memory": MEMORY}
SAID = {
    ("usage", "en"): (
        "12,345 calls (67 failed)",
        "$1.23, 1.2 s per call",
        "20 with speech (3.2 a day)",
        "90%",
    ),
    ("usage", "ja"): ("呼び出し 12,345 回(失敗 67)", "メッセージ 20", "2026-01-11(UTC)まで"),
    ("skills", "en"): ("+12 points (+3 to +22)", "40 / 38", "78 / 200", "not enough data"),
    ("skills", "ja"): ("+12点(+3〜+22)", "試用中", "データ不足", "2026-W02"),
    ("llm", "en"): ("71% (60 to 80)", "free", "90% → 60%", "fast instead of", "confidence 93%"),
    ("llm", "ja"): ("71%(60〜80 の間)", "無料", "会話", "確度 93%", "夜間の評価がまだありません"),
    ("memory", "en"): ("junk rate 15%", "and 1 more", "+12 points", "7 nodes, 5 relations"),
    ("memory", "ja"): ("不要率 15%", "ほか 1 件", "+12点", "物事 7 件"),
}


@pytest.fixture
def told(server: Server) -> Server:
    """A server that has an agent and all of its analytics."""
    server.on("GET /agents", page(agent_view("Ada", id="a1")))
    for part, shown in PARTS.items():
        server.on(f"GET {PLACE}/{part}", ok(shown.model_dump(mode="json")))
    return server


@pytest.mark.parametrize(("part", "language"), SAID)
def test_each_part_is_told_in_both_languages_within_a_hundred_columns(
    program: Program, told: Server, part: str, language: str
) -> None:
    args = ("--language", language, "analytics", "Ada", part)
    for text in SAID[part, language]:
        assert text in program.run(*args).out
    shown = program.sit(*args, COLUMNS="100")
    assert shown.code == 0
    assert max(map(cell_len, shown.out.splitlines())) <= 100


def test_all_parts_are_told_when_none_is_named(program: Program, told: Server) -> None:
    shown = program.run("analytics", "Ada", "--period", "last_day", "--by", "purpose")
    assert [f"Ada: {title}" in shown.out for title in ("usage", "skills", "models", "memory")] == [
        True
    ] * 4
    asked = [dict(request.url.params) for request in told.requests[1:]]
    assert asked[0] == {"period": "last_day"}
    assert asked[2] == {"period": "last_day", "group_by": "purpose"}
    whole = program.run("analytics", "Ada", "--json").json
    assert set(whole) == set(PARTS)
    assert program.run("analytics", "Ada", "usage", "--json").json == whole["usage"]


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en",
            [
                "no model calls in this period",
                "no learned skills yet",
                "no memory was found by a search in 30 days",
                "opencrab learning run",
            ],
        ),
        ("ja", ["呼び出しはありません", "スキルはまだありません", "見つかった記憶はありません"]),
    ],
)
def test_who_has_no_data_is_told_so_and_sees_no_zeros(
    program: Program, told: Server, language: str, words: list[str]
) -> None:
    nothing = Figures()
    bare: dict[str, Any] = {
        "usage": USAGE.replaced(
            totals=nothing,
            days=(),
            models=(),
            weeks=(),
            as_of=None,
            turns=TURNS.replaced(turns=0, spoke=0, spoke_a_day=None, triggers={}, statuses={}),
        ),
        "skills": SKILLS.replaced(skills=(), weeks=(), statuses={}, reason=LITTLE),
        "llm": LLM.replaced(analysis=LLM.analysis.replaced(totals=nothing)),
        "memory": MEMORY.replaced(
            recalled=Recalling(memories=0, found=0, useful=0, junk=0, junk_rate=None, useless=()),
            effect=Measure(reason=LITTLE),
        ),
    }
    for part, shown in bare.items():
        told.on(f"GET {PLACE}/{part}", ok(shown.model_dump(mode="json")))
    shown = program.run("--language", language, "analytics", "Ada").out
    assert [word in shown for word in words] == [True] * len(words)
    assert "0%" not in shown.replace("10%", "")
