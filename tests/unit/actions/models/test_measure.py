"""Grading one's own answers and reading one's own figures: honestly, once, and only one's own."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.learning.evidence import Evidence
from opencrab.domain.usage.counters import DailyTally
from opencrab.domain.value import Language
from opencrab.ports.usage.counters import Tallies
from opencrab.ports.usage.ledger import UsageLedger
from tests.unit.actions.knowing import NOW
from tests.unit.actions.metering import REGISTRY, Office, office
from tests.unit.domain.measured import GPT, MINI, evidence, of

GRADE = {"quality_score": 0.4, "task_success": False, "evaluation": "長すぎた"}


@pytest.fixture
def mika(tmp_path: Path) -> Iterator[Office]:
    with office(tmp_path) as there:
        yield there


def known() -> Evidence:
    return evidence(gpt=of(300, 0.8, cost=4_000), mini=of(300, 0.8))


def test_the_latest_answer_of_this_turn_is_judged_and_what_is_thought_of_it_kept(
    mika: Office,
) -> None:
    mika.call(1)
    wanted = mika.call(2)
    mika.call(3, turn="another")
    told = mika.data(
        "evaluate_response", **GRADE, would_use_again=False, better_model_suggestion="smart"
    )
    assert told == {"metrics_id": wanted.id, "model": GPT, "quality_score": 0.4}
    row = mika.desk.home.usage.row("mika", wanted.id)
    assert (row.quality_score, row.task_success, row.self_evaluation) == (0.4, False, "長すぎた")
    assert (row.would_use_again, row.better_model_suggestion) == (False, "smart")


def test_an_answer_can_be_named_and_is_judged_once(mika: Office) -> None:
    first, _ = mika.call(1), mika.call(2)
    assert mika.data("evaluate_response", **GRADE, metrics_id=first.id)["metrics_id"] == first.id
    again = mika.error("evaluate_response", **GRADE | {"quality_score": 1}, metrics_id=first.id)
    assert "already rated" in again
    assert mika.desk.home.usage.row("mika", first.id).quality_score == 0.4


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"quality_score": 7}, "quality_score is 7; it must be from 0 to 1"),
        ({"quality_score": -0.1}, "from 0 to 1"),
        ({"better_model_suggestion": "secret"}, "smart, fast"),
        ({"better_model_suggestion": "openai:gpt"}, "smart, fast"),
        ({"metrics_id": "x"}, "has no usage row"),
    ],
)
def test_a_grade_that_says_nothing_true_is_refused(
    mika: Office, changes: dict[str, Any], told: str
) -> None:
    row = mika.call()
    assert told in mika.error("evaluate_response", **GRADE | changes)
    assert mika.desk.home.usage.row("mika", row.id).quality_score is None


def test_others_answers_old_ones_and_none_at_all_cannot_be_judged(mika: Office) -> None:
    assert "no model call" in mika.error("evaluate_response", **GRADE)
    others = mika.call(1, agent_id="hana")
    assert "has no usage row" in mika.error("evaluate_response", **GRADE, metrics_id=others.id)
    old = mika.call(2, at=NOW - timedelta(days=7, seconds=1))
    assert "can no longer be rated" in mika.error("evaluate_response", **GRADE, metrics_id=old.id)


def test_an_attempt_that_is_repeated_judges_the_same_answer(mika: Office) -> None:
    row, action = mika.call(1), REGISTRY.find("evaluate_response")
    assert action is not None
    assert action.prepare is not None
    grade = action.arguments.model_validate(GRADE)
    ready = replace(mika.desk.at, prepared=action.prepare(grade, mika.desk.at))
    newer = mika.call(2)
    for _ in range(2):
        assert action.run(grade, ready).success
    assert mika.desk.home.usage.row("mika", row.id).quality_score == 0.4
    assert mika.desk.home.usage.row("mika", newer.id).quality_score is None


class Unread:
    """A ledger whose rows nobody may read."""

    def rows(self, *_: Any, **__: Any) -> None:
        raise AssertionError("an analysis reads days, and no calls")


def test_an_analysis_has_the_fields_of_the_design_and_reads_no_single_call(mika: Office) -> None:
    for n in range(3):
        mika.call(n, cost=4_000)
    mika.know(known())
    reach = replace(mika.desk.at.reach, usage=cast(UsageLedger, Unread()))
    mika.desk.at = replace(mika.desk.at, reach=reach)
    told = mika.data("analyze_llm_usage", period="last_day", group_by="task_type")
    assert (told["calls"], told["total_cost"], told["total_tokens"]) == (3, 0.012, 3_840)
    assert told["avg_latency"] == 840.0
    assert set(told["by_model"]) == {GPT}
    assert told["by_model"][GPT]["usage_count"] == 3
    assert set(told["by_purpose"]) == set(told["by_task_type"]) == {"conversation"}
    assert set(told["quality_by_model"]) == {GPT, MINI}
    assert told["avg_quality"]["low"] < 0.8 < told["avg_quality"]["high"]
    assert told["cost_efficiency"] == 200.0
    (advice,) = told["recommendations"]
    assert (advice["category"], advice["suggestion"]) == ("cost", "fast")
    assert advice["expected_improvement"]["cost_saved"] == 0.75


def test_a_months_analysis_reads_five_weeks_however_many_calls_there_were(mika: Office) -> None:
    reads, real = list[str](), mika.desk.home.tallies

    class Counting:
        def between(self, agent_id: str, first: str, last: str) -> tuple[DailyTally, ...]:
            reads.append(first)
            return real.between(agent_id, first, last)

    reach = replace(mika.desk.at.reach, tallies=cast(Tallies, Counting()))
    mika.desk.at = replace(mika.desk.at, reach=reach)
    for n in range(1, 4):
        mika.call(n)
        assert mika.data("analyze_llm_usage", period="last_month")["calls"] == n
        assert len(reads) == 5 * n


@pytest.mark.parametrize(
    ("language", "none", "unknown"),
    [
        (Language.JA, "呼び出しはありません", "分かりません"),
        (Language.EN, "No model was called", "not known yet"),
    ],
)
def test_an_analysis_without_data_says_so(
    mika: Office, language: Language, none: str, unknown: str
) -> None:
    mika.owned(language)
    told = mika.data("analyze_llm_usage")
    assert none in told["note"]
    assert (told["avg_quality"], told["cost_efficiency"], told["by_model"]) == (None, None, {})
    mika.call()
    assert unknown in mika.data("analyze_llm_usage")["note"]


def test_calls_are_listed_newest_first_in_pages(mika: Office) -> None:
    rows = [mika.call(n, at=NOW - timedelta(minutes=n)) for n in range(1, 6)]
    mika.call(9, at=NOW - timedelta(days=2))
    first = mika.data("get_llm_metrics", limit=3)
    assert [each["metrics_id"] for each in first["metrics"]] == [row.id for row in rows[:3]]
    rest = mika.data("get_llm_metrics", limit=3, after=first["next_after"])
    assert [each["metrics_id"] for each in rest["metrics"]] == [row.id for row in rows[3:]]
    assert "next_after" not in rest
    assert first["metrics"][0]["cost_usd"] == 0.000412
    assert "quality_score" not in first["metrics"][0]
    assert "not a row ID" in mika.error("get_llm_metrics", after="nonsense")


def test_models_are_compared_by_alias_or_name_and_unknown_ones_named(mika: Office) -> None:
    mika.know(known())
    told = mika.data("compare_models", models=["smart", "openai:mini"])
    assert list(told["models"]) == [GPT, MINI]
    (one,) = told["differences"]
    assert (one["outcome"], one["judged_turns"]) == ("no_difference_shown", [300, 300])
    little = mika.data("compare_models", models=["smart", "fast"], purpose="creative")
    assert little["differences"][0]["outcome"] == "too_little_data"
    assert little["differences"][0]["quality"] is None
    assert "there is no model" in mika.error("compare_models", models=["smart", "gpt99"])
    assert "the same model" in mika.error("compare_models", models=["smart", GPT])


@pytest.mark.parametrize("authority", [Authority.PUBLIC, Authority.PEER])
def test_outsiders_learn_nothing_of_what_an_agent_costs(mika: Office, authority: Authority) -> None:
    mika.call()
    mika.desk.on_behalf_of(authority, person="stranger")
    for name, arguments in (
        ("analyze_llm_usage", {}),
        ("get_llm_metrics", {}),
        ("compare_models", {"models": ["smart", "fast"]}),
        ("evaluate_response", GRADE),
        ("optimize_model_selection", {}),
    ):
        assert "your model usage" in mika.error(name, **arguments)
