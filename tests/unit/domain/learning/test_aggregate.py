"""A day's turns become sums: each turn once, each worth with those that had a part in it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.insight.figures import analytics_totals, model_qualities_for_analytics
from opencrab.domain.insight.recommendations import compare_models_for_analytics
from opencrab.domain.learning.aggregate import evidence_of_turns, learning_rewards_of_turns
from opencrab.domain.learning.evidence import Evidence
from opencrab.domain.learning.reward import TurnOpinion
from opencrab.domain.learning.signals import ServedCalls, TurnSignals
from opencrab.domain.models.routing import Use
from opencrab.domain.statistics.confidence import Estimate, MomentSums
from opencrab.domain.statistics.off_policy import WeightedTurns, propensity_weighted_sums
from opencrab.domain.turn.turn import Trigger, TurnStatus

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CHAT = "conversation/chat"
ONE, NONE = MomentSums(n=1, total=1, squares=1), MomentSums(n=1)


def served(model: str = "v:a", **told: Any) -> ServedCalls:
    """Calls of one model."""
    first = {"model": model, "purpose": Use.CONVERSATION, "task_type": "chat"}
    return ServedCalls(**{**first, "chosen_by": "default", "cost": 100, "latency_ms": 900, **told})


def turn(number: int, **told: Any) -> TurnSignals:
    """An ended turn."""
    return TurnSignals(
        **{
            "turn_id": f"t{number}",
            "session_id": "s1",
            "at": NOW + timedelta(minutes=number),
            "trigger": Trigger.MESSAGE,
            "status": TurnStatus.COMPLETED,
            "served": (served(),),
            "spoke": True,
            **told,
        }
    )


def opinion(number: int, *, up: bool | None) -> TurnOpinion:
    """What somebody thinks of a turn."""
    return TurnOpinion(turn_id=f"t{number}", up=up, at=NOW)


def row(number: int, call: int = 1) -> str:
    """The metrics id of a turn's call."""
    return f"20261121T120000.000000Z-t{number}-{call:04d}"


def gather_evidence(
    signals: Sequence[TurnSignals],
    opinions: Sequence[TurnOpinion],
    grades: Mapping[str, float],
    later: Sequence[TurnSignals] = (),
) -> Evidence:
    """What a day's turns show."""
    return evidence_of_turns(learning_rewards_of_turns(signals, opinions, later), grades)


def test_nothing_comes_of_nothing() -> None:
    assert gather_evidence([], [], {}) == Evidence()
    found = gather_evidence([turn(1, served=())], [], {row(9): 1.0})
    assert (found.turns, found.judged, found.models, found.grades) == (1, 0, {}, {})


def test_a_turn_that_comes_twice_counts_once() -> None:
    again = [turn(1, task_success=True)] * 3
    found = gather_evidence(again, [], {})
    assert (found.turns, found.judged) == (1, 1)
    assert found.models[f"{CHAT}/v:a"].quality == ONE


def test_cost_and_time_are_those_of_the_turn_and_judged_or_not() -> None:
    calls = (served(), served(cost=50, latency_ms=100))
    found = gather_evidence([turn(1, served=calls)], [], {}).models[f"{CHAT}/v:a"]
    assert (found.turns, found.quality.n) == (1, 0)
    assert (found.cost.mean, found.latency.mean) == (150, 1_000)
    odd = served(cost=-5, latency_ms=-7)
    found = gather_evidence([turn(1, served=(odd,))], [], {}).models[f"{CHAT}/v:a"]
    assert (found.cost.total, found.latency.n) == (0, 0)


def test_the_model_that_answered_has_the_worth_and_the_one_that_did_not_has_failed() -> None:
    calls = (served(failed=1), served("v:b", chosen_by="fallback"))
    found = gather_evidence([turn(1, served=calls, task_success=True)], [], {}).models
    silent, stand_in = found[f"{CHAT}/v:a"], found[f"{CHAT}/v:b"]
    assert (silent.failed, silent.turns, silent.quality.n, silent.cost.n) == (1, 1, 0, 0)
    assert (stand_in.quality, stand_in.weighted) == (ONE, WeightedTurns())


def test_what_was_drawn_from_a_mix_is_kept_with_its_probability() -> None:
    drawn: dict[str, Any] = {"chosen_by": "learned", "probability": 0.25}
    turns = [
        turn(1, served=(served(**drawn),), task_success=True),
        turn(2, served=(served(**drawn, failed=1), served("v:b", chosen_by="fallback"))),
        turn(3, served=(served(**drawn),)),
        turn(4, served=(served(**drawn, failed=1),), outsider=True),
    ]
    found = gather_evidence(turns, [], {})
    expected = propensity_weighted_sums([(0.25, 1.0), (0.25, None)], [0.25])
    assert found.models[f"{CHAT}/v:a"].weighted == expected
    assert found.models[f"{CHAT}/v:b"].weighted == WeightedTurns()
    assert found.answers["chat/v:a"].weighted == WeightedTurns()


@pytest.mark.parametrize("by", ["turn", "session", "permanent", "default", "fallback"])
def test_what_was_not_left_to_chance_stands_for_no_other_turn(by: str) -> None:
    found = gather_evidence([turn(1, served=(served(chosen_by=by),), task_success=True)], [], {})
    assert found.models[f"{CHAT}/v:a"].weighted == WeightedTurns()


def both(model: str = "v:a", **told: Any) -> tuple[ServedCalls, ServedCalls]:
    """A model that answers twice in a turn, the second time after actions."""
    return served(model, **told), served(model, **told, purpose=Use.TOOL_CALLING)


def test_a_model_that_was_picked_for_the_work_at_hand_is_not_judged_by_it() -> None:
    picked = (served(chosen_by="turn"),)
    found = gather_evidence([turn(1, served=picked, task_success=False)], [], {})
    known = found.models[f"{CHAT}/v:a"]
    assert (known.quality.n, known.turns, known.cost.n) == (0, 1, 1)
    assert [each.quality.n for each in found.answers.values()] == [1]


def test_a_turn_that_served_several_purposes_is_one_turn_of_its_model() -> None:
    turns = [turn(number, served=both(), task_success=number < 3) for number in range(4)]
    found = gather_evidence(turns, [], {})
    half = MomentSums(n=4, total=3, squares=3)
    assert set(found.models) == {f"{CHAT}/v:a", "tool_calling/chat/v:a"}
    assert {each.quality for each in found.models.values()} == {half}
    answer = found.answers["chat/v:a"]
    assert (answer.quality, answer.turns, answer.cost.mean) == (half, 4, 200)
    groups = ("", "purpose/conversation", "purpose/tool_calling", "task_type/chat")
    assert found.worths == dict.fromkeys(groups, half)
    assert [each and each.n for each in shown(found)] == [4, 4, 4, None]


def test_a_model_that_answered_once_in_a_turn_has_not_failed_in_it() -> None:
    silent, spoke = both()
    calls = (silent.replaced(failed=1), spoke, served("v:b", chosen_by="fallback"))
    found = gather_evidence([turn(1, served=calls, task_success=True)], [], {})
    assert (found.answers["chat/v:a"].failed, found.answers["chat/v:a"].quality) == (0, ONE)
    assert found.answers["chat/v:b"].weighted == WeightedTurns()
    assert found.worths["purpose/conversation"] == found.worths[""] == ONE


def shown(found: Evidence) -> list[Estimate | None]:
    """What is told of all turns, of a model, and of two beside each other."""
    pair = compare_models_for_analytics((), found, ("v:a", "v:b")).models
    return [
        analytics_totals({}, found).quality,
        model_qualities_for_analytics(found).get("v:a"),
        *(pair[name].quality for name in ("v:a", "v:b")),
    ]


CALLS = st.builds(
    served,
    st.sampled_from(("v:a", "v:b")),
    purpose=st.sampled_from((Use.CONVERSATION, Use.TOOL_CALLING, Use.CREATIVE)),
    task_type=st.sampled_from(("chat", "code")),
    failed=st.integers(0, 1),
)
TURNS = st.lists(
    st.tuples(st.lists(CALLS, max_size=4), st.sampled_from((None, True, False))), max_size=6
)


@given(TURNS)
def test_no_total_rests_on_more_turns_than_were_judged(
    told: list[tuple[list[ServedCalls], bool | None]],
) -> None:
    turns = [
        turn(number, served=tuple(calls), task_success=success)
        for number, (calls, success) in enumerate(told)
    ]
    found = sum((gather_evidence([each], [], {}) for each in turns), Evidence())
    whole = analytics_totals({}, found).quality
    assert (whole.n if whole else 0) == found.judged
    assert all(each.n <= found.judged for each in found.worths.values())
    for name in ("v:a", "v:b"):
        own = [each for key, each in found.answers.items() if key.endswith(name)]
        assert sum(each.quality.n for each in own) <= found.judged
        assert sum(each.turns for each in own) <= found.turns
    assert all(each.n <= found.turns for each in shown(found) if each)


@given(TURNS)
def test_turns_of_one_model_each_are_no_more_than_were_judged(
    told: list[tuple[list[ServedCalls], bool | None]],
) -> None:
    turns = list[TurnSignals]()
    for number, (calls, success) in enumerate(told):
        same = tuple(each.replaced(model=calls[0].model) for each in calls)
        silent = all(each.failed for each in same)
        status = TurnStatus.FAILED if silent else TurnStatus.COMPLETED
        turns.append(turn(number, served=same, task_success=success, status=status))
    found = gather_evidence(turns, [], {})
    assert sum(each.n for each in model_qualities_for_analytics(found).values()) <= found.judged
    (pair,) = compare_models_for_analytics((), found, ("v:a", "v:b")).differences
    assert sum(pair.judged) <= found.judged


def test_a_later_message_corrects_or_repeats_even_on_the_next_day() -> None:
    today, tomorrow = [turn(1), turn(2)], [turn(3, corrects="t1"), turn(4, repeats="t2")]
    assert gather_evidence(today, [], {}).judged == 0
    found = gather_evidence(today, [], {}, later=tomorrow)
    assert found.turns == 2
    assert found.models[f"{CHAT}/v:a"].quality == MomentSums(n=2)


def test_the_coin_alone_says_who_had_a_skill() -> None:
    turns = [
        turn(1, given=("s",), task_success=True),
        turn(2, held=("s",), asked=("s",), task_success=False),
        turn(3, asked=("s",), task_success=True),
        turn(4, given=("s",)),
    ]
    found = gather_evidence(turns, [], {}).skills
    assert list(found) == ["s/v:a"]
    assert (found["s/v:a"].given, found["s/v:a"].held) == (ONE, NONE)


def test_acting_more_often_is_no_proof_of_a_skill() -> None:
    """The skill makes the model list a folder first: each such turn would be judged, and well."""
    lucky = [opinion(n, up=n % 2 == 0) for n in range(1, 41, 2)]
    given = [turn(n, given=("s",), done=1) for n in range(1, 21)]
    held = [turn(n, held=("s",)) for n in range(21, 41)]
    found = gather_evidence([*given, *held], lucky, {})
    known = found.skills["s/v:a"]
    assert known.given.n == known.held.n == 10
    assert known.given.mean == known.held.mean
    assert found.judged > known.given.n + known.held.n


def test_a_skill_is_filed_by_the_model_that_answered_first() -> None:
    calls = (served(failed=1), served("v:b", chosen_by="fallback"))
    answered = turn(1, served=calls, given=("s",), task_success=True)
    silent = turn(2, served=(served(failed=1),), held=("s",), status=TurnStatus.FAILED)
    found = gather_evidence([answered, silent], [], {}).skills
    assert (found["s/v:b"].given, found["s/v:a"].held) == (ONE, NONE)


def test_only_searches_that_had_memories_to_show_tell_of_them() -> None:
    turns = [
        turn(1, could_hide=True, found=("m1", "m2"), useful=("m1",), task_success=True),
        turn(2, could_hide=True, hidden=True, task_success=False),
        turn(3, task_success=True),
    ]
    found = gather_evidence(turns, [], {})
    assert (found.memories.given, found.memories.held) == (ONE, NONE)
    told = {name: (each.found, each.useful) for name, each in found.recalled.items()}
    assert told == {"m1": (1, 1), "m2": (1, 0)}


def test_grades_are_filed_by_the_model_that_gave_them_beside_what_happened() -> None:
    both = (served(last_row=row(2)), served("v:b"))
    turns = [turn(1), turn(2, served=both), turn(3, served=both)]
    said = {row(1): 0.9, row(2): 0.1, row(3): 0.5, row(8): 1.0, "rubbish": 1.0}
    found = gather_evidence(turns, [opinion(1, up=True)], said).grades
    assert list(found) == ["v:a"]
    assert [step.grades.n for step in found["v:a"]] == [1, 0, 0, 0, 1]
    assert [step.worth.n for step in found["v:a"]] == [0, 0, 0, 0, 1]
    assert gather_evidence([turn(1)], [], {row(1): 7.0}).grades == {}


def test_days_add_up_to_what_they_are_together() -> None:
    days = [
        [
            turn(
                n,
                given=("s",),
                done=n,
                undone=1,
                task_success=n > 1,
                could_hide=True,
                found=(f"m{n}",),
            )
        ]
        for n in range(1, 5)
    ]
    whole = gather_evidence([each for day in days for each in day], [], {row(2): 0.4})
    parts = sum((gather_evidence(day, [], {row(2): 0.4}) for day in days), Evidence())
    assert (parts.turns, parts.judged, parts.recalled) == (4, 4, whole.recalled)
    assert parts.grades == whole.grades
    assert parts.skills["s/v:a"].given.total == pytest.approx(whole.skills["s/v:a"].given.total)
    assert parts.models[f"{CHAT}/v:a"].cost == whole.models[f"{CHAT}/v:a"].cost
