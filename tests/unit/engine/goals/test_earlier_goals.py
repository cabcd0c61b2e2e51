"""What the next step towards an aspiration is told of the ones before it."""

from datetime import timedelta
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.goals.goal import ActionReceipt, Goal, GoalSource, GoalStatus, TaskStatus
from opencrab.domain.value import Language
from opencrab.engine.goals.earlier_goals import GOALS_TOLD, earlier_goals_text, ended_own_goals
from opencrab.engine.goals.generation import generate_aspirations, generate_next_step_goal
from tests.unit.engine.goals.aims import aim, board, pursues, step
from tests.unit.engine.goals.test_generation import STEP, UNASKED, lives
from tests.unit.engine.known_world import NOW, World

NAME = "Feed Kani"


def ended(number: int, report: str = "Fed.", **changes: Any) -> Goal:
    fields: dict[str, Any] = {
        "name": NAME,
        "authority": Authority.SELF,
        "source": GoalSource.ROLE,
        "status": GoalStatus.COMPLETED,
        "report": report,
        "ended_at": NOW + timedelta(days=number),
    }
    return aim(number, **fields | changes)


@pytest.mark.parametrize(
    ("language", "lines"),
    [
        (
            Language.EN,
            [
                "- 2026-02-20 Fed. All well (files: log.md, a.md)",
                "- 2026-02-19 nothing came of it",
                "- 2026-02-18 done; its report contains words from outside",
            ],
        ),
        (
            Language.JA,
            [
                "- 2026-02-20 Fed. All well(ファイル: log.md, a.md)",
                "- 2026-02-19 成果はありませんでした",
                "- 2026-02-18 済み。報告に外部の言葉を含みます",
            ],
        ),
    ],
)
def test_it_is_told_what_came_of_the_last_steps_and_which_files_they_wrote(
    world: World, language: Language, lines: list[str]
) -> None:
    lives(world, language)
    wrote = (ActionReceipt(action="ws_write", path="log.md"), ActionReceipt(action="web_fetch"))
    task = step(1, status=TaskStatus.DONE, receipts=wrote)
    pursues(
        world,
        ended(1, "SECRET", taint=True),
        ended(2, "", status=GoalStatus.ABANDONED),
        ended(
            3, "Fed.\nAll well", tasks=(task,), receipts=(wrote[0], wrote[0].replaced(path="a.md"))
        ),
        ended(4, name="Another"),
        ended(5, authority=Authority.OWNER),
        ended(6, status=GoalStatus.PENDING, ended_at=None),
    )
    told = earlier_goals_text(ended_own_goals(board(world)), NAME, language)
    assert told.splitlines()[2:] == lines


def test_only_the_newest_are_told_and_shortly(world: World) -> None:
    pursues(world, *(ended(number, f"{number} " + "長い" * 5_000) for number in range(1, 9)))
    found = ended_own_goals(board(world))
    told = earlier_goals_text(found, NAME, Language.EN).splitlines()[2:]
    assert [line.split()[2] for line in told] == ["8", "7", "6"]
    assert len(told) == GOALS_TOLD
    assert max(map(len, told)) < 500


@pytest.mark.parametrize("language", Language)
def test_the_second_step_is_told_of_the_first(world: World, language: Language) -> None:
    lives(world, language)
    name = STEP[language] + UNASKED.instructions
    pursues(world, ended(1, "海を見ました。", name=name))
    at = board(world)
    generate_aspirations(at, NOW)
    goal = generate_next_step_goal(world.runtime.rules.autonomy, at, NOW)
    assert goal is not None
    assert goal.name == name
    assert "- 2026-02-18 海を見ました。" in goal.instruction
    assert not goal.taint


def test_a_first_step_is_told_of_none(world: World) -> None:
    assert earlier_goals_text(ended_own_goals(board(world)), NAME, Language.EN) == ""


@pytest.mark.parametrize(
    ("language", "line"),
    [
        (Language.EN, "- 2026-02-18 no action was taken; it said: Yes."),
        (Language.JA, "- 2026-02-18 アクションはなく、発言だけでした: Yes."),
    ],
)
def test_what_was_only_said_is_told_as_that(world: World, language: Language, line: str) -> None:
    pursues(world, ended(1, "Yes.", status=GoalStatus.ABANDONED))
    told = earlier_goals_text(ended_own_goals(board(world)), NAME, language)
    assert told.splitlines()[2:] == [line]
