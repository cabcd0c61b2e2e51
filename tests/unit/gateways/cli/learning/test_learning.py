"""Experiments and changes at the terminal: shown, stopped, pinned, undone; and looking now."""

from datetime import date
from typing import Any

import pytest
from rich.cells import cell_len

from opencrab.domain.learning.change import Adjustment, AdjustmentKind, AdjustmentState
from opencrab.domain.learning.review_period import (
    Remark,
    ReviewResult,
    SkillReview,
    Standstill,
    UnusedRecall,
)
from opencrab.domain.statistics.confidence import Estimate
from opencrab.engine.insight.experiments import (
    AdjustmentView,
    Experiment,
    Experiments,
    ExperimentState,
    Pinned,
)
from opencrab.engine.insight.explored_models import MixedModel
from opencrab.engine.insight.measures import LITTLE, Measure
from opencrab.engine.insight.skill_analytics import TrialOf
from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import NOW, agent_view

PLACE = "/agents/a1"
QUALITY = Estimate(n=40, mean=0.71, low=0.6, high=0.8)
MIXED = Adjustment(
    id="20260105-mix",
    at=NOW,
    kind=AdjustmentKind.MODELS,
    subject="conversation/code",
    before={},
    after={"weights": {"fast": 0.9, "smart": 0.1}},
    evidence={"quality": QUALITY.model_dump(), "cost_micro_usd": 1_200, "turns_a_day": 4},
    reason="learned",
    by="daily-2026-01-04",
    state=AdjustmentState.PROPOSED,
)
PROMOTED = MIXED.replaced(
    id="20260105-skill",
    kind=AdjustmentKind.SKILL,
    subject="brief",
    before={"status": "candidate"},
    after={"status": "active"},
    evidence={"points": 12.4, "low": 3.1, "high": 21.6, "given": 40, "held": 38},
    reason="helps",
    state=AdjustmentState.APPLIED,
)
FOUND = Experiments(
    agent_id="a1",
    as_of="2026-01-04",
    explore=0.1,
    items=(
        Experiment(
            subject="skill:brief",
            kind="skill",
            state=ExperimentState.RUNNING,
            effect=Measure(given=3, held=2, reason=LITTLE),
            by_task={"code": Measure(points=8.0, low=1.0, high=15.0, given=2, held=1, helps=0.98)},
            trial=TrialOf(
                turns=5, least_turns=20, most_turns=200, withheld_percent=50, pinned=False
            ),
            verdict="keep",
            reason="too_little_data",
            withheld_percent=50,
        ),
        Experiment(
            subject="models:conversation.code",
            kind="models",
            state=ExperimentState.PINNED,
            models=(
                MixedModel(
                    model="fast",
                    name=None,
                    weight=0.9,
                    turns=40,
                    quality=QUALITY,
                    off_policy=Estimate(n=31, mean=0.64, low=0.5, high=0.77),
                    cost_micro_usd=1_200.4,
                    latency_ms=900.0,
                ),
            ),
            decisions=(AdjustmentView.of(MIXED),),
        ),
        Experiment(
            subject="memory",
            kind="memory",
            state=ExperimentState.RUNNING,
            effect=Measure(points=2.0, low=-8.0, high=12.0, given=30, held=20, helps=0.6),
            withheld_percent=10,
        ),
    ),
    pinned=("models:conversation.code",),
)
LOOKED = ReviewResult(
    agent_id="a1",
    period="daily-2026-01-04",
    first=date(2026, 1, 4),
    last=date(2026, 1, 4),
    dry_run=True,
    turns=9,
    judged=7,
    spent_micro_usd=12_000,
    budget_micro_usd=1_000_000,
    adjustments=(PROMOTED,),
    reviews=(
        SkillReview(
            skill="brief",
            status="candidate",
            remark=Remark.KEEP,
            reason="undecided",
            effect=Estimate(n=78, mean=0.124, low=-0.03, high=0.22),
            given=40,
            held=38,
        ),
    ),
    standstills=(Standstill(subject="conversation/code", reason="too_little_data"),),
    junk=UnusedRecall(found=40, useless=("m1",), rate=0.025),
    lived=UnusedRecall(found=9, useless=("e1", "e2", "e3"), rate=1 / 3),
    report=("reports/learning/2026-01-04.md",),
)


def shown(value: Any) -> Any:
    return ok(value.model_dump(mode="json"))


@pytest.fixture(autouse=True)
def ada(server: Server) -> None:
    """There is one agent."""
    server.on("GET /agents", page(agent_view("Ada", id="a1")))


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en",
            (
                "skill:brief: running",
                "effect: not enough data, 3 turns with and 2 without; withheld in 50% of turns",
                "for code: +8 points (+1 to +15) (2 turns with it, 1 without)",
                "5 turns evaluated, decided between 20 and 200; now: keep (",
                "(not configured)",
                "71% (60 to 80)",
                "64% (50 to 77)",
                "if always: estimated quality if this model alone had answered every turn",
                "+2 points (-8 to +12)",
                "models:conversation.code: proposed\n  none → fast 90%, smart 10%: measured",
                "10% of turns may try a model other than",
            ),
        ),
        (
            "ja",
            (
                "skill:brief: 実験中",
                "効果: データ不足",
                "現在: 継続(データが足りない)",
                "固定中",
                "(未設定)",
                "64%(50〜77 の間)",
                "常時なら: この配分の全ターンを1つのモデルだけで行った場合の推定品質",
                "+2点(-8〜+12)",
                "提案\n  なし → fast 90%, smart 10%。理由: 測定の結果による",
            ),
        ),
    ],
)
def test_experiments_are_told_with_what_they_showed_so_far(
    program: Program, server: Server, language: str, words: tuple[str, ...]
) -> None:
    server.on(f"GET {PLACE}/experiments", shown(FOUND))
    said = program.run("--language", language, "experiments", "Ada").out
    assert [word for word in words if word not in said] == []
    sat = program.sit("--language", language, "experiments", "Ada", COLUMNS="100")
    assert max(map(cell_len, sat.out.splitlines())) <= 100
    assert program.run("experiments", "Ada", "--json").json == FOUND.model_dump(mode="json")
    server.on(f"GET {PLACE}/experiments", shown(FOUND.replaced(items=(), pinned=())))
    nothing = program.run("experiments", "Ada").out
    assert "Ada has no experiments" in nothing


def test_an_experiment_is_stopped_and_what_is_good_is_pinned(
    program: Program, server: Server
) -> None:
    subject = "models:conversation.code"
    stopped = AdjustmentView.of(MIXED.replaced(reason="stopped", state=AdjustmentState.APPLIED))
    quoted = "models%3Aconversation.code"
    server.on(f"POST {PLACE}/experiments/{quoted}/stop", shown(stopped))
    for verb, pinned in (("pin", True), ("unpin", False)):
        answer = shown(Pinned(subject=subject, pinned=pinned))
        server.on(f"POST {PLACE}/experiments/{quoted}/{verb}", answer)
    said = program.run("experiments", "Ada", "--stop", "models:conversation/code")
    assert said.code == 0, said.err
    assert f"{subject}: applied\n  none → fast 90%, smart 10%: somebody" in said.out
    assert program.run("experiments", "Ada", "--pin", subject).out == f"pinned {subject}\n"
    freed = program.run("--language", "ja", "experiments", "Ada", "--unpin", subject)
    assert freed.out == f"{subject} の固定を解除しました\n"
    both = program.run("experiments", "Ada", "--pin", subject, "--stop", subject)
    assert (both.code, "one of --stop" in both.err) == (2, True)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en",
            "memory: applied\n  withheld in 10% of turns → withheld in 0% of turns: somebody ended",
        ),
        ("ja", "memory: 実施済み\n  10% のターンで隠す → 0% のターンで隠す。理由: 試用が"),
    ],
)
def test_the_trial_of_memories_is_ended(
    program: Program, server: Server, language: str, words: str
) -> None:
    ended = MIXED.replaced(
        kind=AdjustmentKind.MEMORIES,
        subject="search",
        before={"withheld_percent": 10},
        after={"withheld_percent": 0},
        evidence={},
        reason="stopped",
        state=AdjustmentState.APPLIED,
    )
    server.on(f"POST {PLACE}/experiments/memories/stop", shown(AdjustmentView.of(ended)))
    said = program.run("--language", language, "experiments", "Ada", "--stop", "memories")
    assert (words in said.out, said.code) == (True, 0), said.out


def test_changes_are_told_with_their_evidence_and_taken_back(
    program: Program, server: Server
) -> None:
    listed = [AdjustmentView.of(each).model_dump(mode="json") for each in (PROMOTED, MIXED)]
    server.on(f"GET {PLACE}/changes", page(*listed, next_cursor="more"))
    undone = AdjustmentView.of(PROMOTED.replaced(state=AdjustmentState.UNDONE))
    server.on(f"POST {PLACE}/changes/20260105-skill/undo", shown(undone))
    server.on(f"POST {PLACE}/changes/old/undo", problem(409, "b came later"))
    said = program.run("changes", "Ada").out
    for word in (
        "skill:brief: applied\n  on trial → active: it helps",
        "effect +12 points (+3 to +22), 40 turns with and 38 without",
        "expected quality 71% (60 to 80), $0.0012 per turn",
        "20260105-mix",
        "newest 20",
    ):
        assert word in said
    back = program.run("--language", "ja", "changes", "Ada", "--undo", "20260105-skill").out
    assert "取り消し済み\n  試用中 → 活動中。理由: 効果がある" in back
    assert program.run("changes", "Ada", "--undo", "old").code == 6
    done = AdjustmentView.of(MIXED.replaced(id="new", state=AdjustmentState.APPLIED))
    server.on(f"POST {PLACE}/changes/{MIXED.id}/apply", shown(done))
    assert "conversation.code: applied" in program.run("changes", "Ada", "--apply", MIXED.id).out
    assert program.run("changes", "Ada", "--apply", "a", "--undo", "b").code == 2
    server.on(f"GET {PLACE}/changes", page())
    assert program.run("changes", "Ada").out == "Ada has no changes\n"


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en",
            (
                "experience:e1: proposed\n  active → retire: it was found often",
                "found 5 times by searches, helped 0 times",
                "text: It rained. Take an umbrella.",
                "experience:e2: proposed\n  active → merge (e1): another experience has the same",
                "88% of the words match",
                "text of the other: It rained.",
            ),
        ),
        (
            "ja",
            (
                "experience:e1: 提案\n  活動中 → 使用停止。理由: 検索で何度も見つかったのに",
                "検索で 5 回見つかり、役立ったのは 0 回",
                "内容: It rained. Take an umbrella.",
                "統合 (e1)。理由: 別の経験と内容が同じ",
                "言葉の 88% が一致",
                "もう一方の内容: It rained.",
            ),
        ),
    ],
)
def test_an_experience_that_is_to_go_is_told_with_its_words(
    program: Program, server: Server, language: str, words: tuple[str, ...]
) -> None:
    goes = MIXED.replaced(
        kind=AdjustmentKind.EXPERIENCE,
        subject="e1",
        before={"status": "active"},
        after={"remark": "retire"},
        evidence={"found": 5, "useful": 0},
        reason="never_of_use",
    )
    twin = goes.replaced(
        subject="e2",
        after={"remark": "merge", "other": "e1"},
        evidence={"found": 0, "useful": 0, "other_found": 5, "other_useful": 0, "alike": 0.875},
        reason="told_twice",
    )
    said = ("It rained.\nTake an umbrella.", "It rained.\nTake a coat.")
    listed = (AdjustmentView.of(goes, said[:1]), AdjustmentView.of(twin, said[::-1]))
    server.on(f"GET {PLACE}/changes", page(*(each.model_dump(mode="json") for each in listed)))
    told = program.run("--language", language, "changes", "Ada").out
    assert [word for word in words if word not in told] == []


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en",
            (
                "Ada, 2026-01-04 to 2026-01-04 (UTC): 9 turns, 7 evaluated; spent $0.012 of $1.00",
                "dry run, nothing was changed. It would do this:",
                "conversation/code: unchanged (not enough data)",
                "+12 points (-3 to +22)",
                "1 of 40 memories",
                "3 of 9 experiences found by searches never helped: 33%",
                "report: reports/learning/2026-01-04.md",
            ),
        ),
        (
            "ja",
            (
                "9 ターン(評価済み 7)",
                "変更していません。実行した場合:",
                "変更なし(データが足りない)",
                "継続",
                "+12点(-3〜+22)",
                "2%",
            ),
        ),
    ],
)
def test_a_look_is_told_as_it_was_or_would_be(
    program: Program, server: Server, language: str, words: tuple[str, ...]
) -> None:
    server.on(f"POST {PLACE}/meta/runs", shown(LOOKED))
    args = ("meta", "run", "Ada", "--period", "weekly", "--dry-run")
    said = program.run("--language", language, *args).out
    assert [word for word in words if word not in said] == []
    assert server.sent("POST") == [{"period": "weekly", "dry_run": True}]
    assert program.run(*args, "--json").json["judged"] == 7
    done = LOOKED.replaced(
        dry_run=False, done_before=True, adjustments=(), problem="the quota is full"
    )
    server.on(f"POST {PLACE}/meta/runs", shown(done))
    again = program.run("meta", "run", "Ada", "--period", "review")
    assert server.sent("POST")[-1] == {"period": "review", "dry_run": False}
    assert "already done; nothing was changed" in again.out
    assert "no changes" in again.out
    assert "the quota is full" in again.err
