"""The check of a model's plan: what is refused, and what is kept without its time."""

import json
from datetime import UTC, datetime

import jsonschema
import pytest

from opencrab.domain.autonomy.instruction_answer import (
    INSTRUCTION_ANSWER_SCHEMA,
    parse_autonomy_instruction_plan,
)
from opencrab.domain.autonomy.instruction_plan import PlanFlaw, PlannedGoal

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def parse(text: str, zone: str = "UTC") -> tuple[tuple[PlannedGoal, ...], str]:
    return parse_autonomy_instruction_plan(
        text, now=NOW, zone=zone, is_action=lambda name: name == "save_memory"
    )


def goal(zone: str = "UTC", **fields: str) -> PlannedGoal:
    (found,) = parse(json.dumps({"goals": [{"name": "Greet", **fields}]}), zone)[0]
    return found


def test_an_answer_may_have_a_fence_and_a_note() -> None:
    goals, note = parse('```json\n{"goals": [{"name": "挨拶"}], "note": "No\\nmail"}\n```')
    assert (goals, note) == ((PlannedGoal(name="挨拶", words="挨拶"),), "No mail")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON object"),
        ("Sure!", "no JSON object"),
        ("{" * 5_000, "no JSON object"),
        ('{"goals": []}', "goals"),
        ('{"goals": [{"name": " "}]}', "goals.0.name"),
        ('{"goals": [{"name": "a", "tool": "rm"}]}', "goals.0.tool"),
        ('{"goals": [{"name": "a"}, {"name": "A"}]}', "same name"),
        (json.dumps({"goals": [{"name": f"{n}"} for n in range(9)]}), "goals"),
        (json.dumps({"goals": [{"name": "a", "do": "x" * 1_001}]}), "goals.0.do"),
        ("{" + " " * 17_000 + "}", "too long"),
    ],
)
def test_an_answer_of_another_form_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse(text)


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("", {}),
        ("once", {"once": True}),
        ("0 8 * * *", {"times": "0 8 * * *"}),
        ("@every 2h", {"times": "@every 2h"}),
        ("once 2026-01-06 08:30", {"times": "30 8 6 1 *", "once": True}),
        ("once 2026-01-04 08:30", {"flaw": PlanFlaw.BAD_TIME, "once": True}),
        ("once 2026-13-04 08:30", {"flaw": PlanFlaw.BAD_TIME, "once": True}),
        ("event world.*", {"event": "world.*"}),
        ("event Rain!", {"flaw": PlanFlaw.BAD_TIME}),
        ("tomorrow", {"flaw": PlanFlaw.BAD_TIME}),
        ("99 8 * * *", {"flaw": PlanFlaw.BAD_TIME}),
        ("* * * * *", {"flaw": PlanFlaw.TOO_OFTEN}),
        ("0,1 8 * * *", {"flaw": PlanFlaw.TOO_OFTEN}),
        ("@every 1m", {"flaw": PlanFlaw.TOO_OFTEN}),
    ],
)
def test_a_time_is_one_of_a_few_forms(when: str, expected: dict[str, object]) -> None:
    assert goal(when=when) == PlannedGoal(name="Greet", words="Greet", **expected)  # type: ignore[arg-type]


def test_a_moment_is_one_of_the_agents_time_zone() -> None:
    assert goal("Asia/Tokyo", when="once 2026-01-05 18:30").times == "30 18 5 1 *"
    assert goal("Asia/Tokyo", when="once 2026-01-05 17:59").flaw is PlanFlaw.BAD_TIME


def test_a_condition_that_no_action_can_meet_is_left_out() -> None:
    assert (
        goal(done_when="file:a.md action:save_memory").done_when == "file:a.md action:save_memory"
    )
    found = goal(done_when="action:fly")
    assert (found.done_when, found.flaw) == ("", PlanFlaw.NO_CONDITION)
    assert goal(done_when="file:../../etc/passwd").done_when == ""


def _answer(**fields: object) -> dict[str, object]:
    said = {"name": "挨拶", "do": "Say hello.", "done_when": "", "when": "0 8 * * *"}
    return {"goals": [{**said, **fields}], "note": ""}


def test_what_the_schema_allows_is_read() -> None:
    answer = _answer()
    jsonschema.validate(answer, INSTRUCTION_ANSWER_SCHEMA)
    ((found,), note) = parse(json.dumps(answer))
    assert (found.name, found.words, found.times, note) == ("挨拶", "Say hello.", "0 8 * * *", "")


@pytest.mark.parametrize(
    "answer",
    [
        {"goals": [], "note": ""},
        {"goals": _answer()["goals"]},
        {**_answer(), "tool": "rm"},
        _answer(tool="rm"),
        _answer(name=1),
        _answer(name=""),
        _answer(name="蟹" * 121),
        {"goals": [{"name": "a"}], "note": ""},
        {"goals": [{"name": f"{n}"} for n in range(9)], "note": ""},
    ],
)
def test_what_would_be_refused_or_lacks_a_field_the_schema_does_not_allow(
    answer: dict[str, object],
) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(answer, INSTRUCTION_ANSWER_SCHEMA)
