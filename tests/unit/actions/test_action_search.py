"""Finding actions that are not in the prompt, and why use_action itself does nothing."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from opencrab.actions import Group, Registry
from opencrab.actions.action_search import RESULT_BYTES, group
from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Language, Value
from opencrab.ports.turn.action import ActionContext
from tests.unit.actions.knowing import Desk, desk


@pytest.fixture
def mika(tmp_path: Path) -> Iterator[Desk]:
    """Mika's place."""
    with desk(tmp_path) as place:
        yield place


def found(mika: Desk, **arguments: str) -> list[str]:
    return [each["name"] for each in mika.data("find_actions", **arguments)["actions"]]


def test_without_a_query_the_groups_are_listed_by_name_alone(mika: Desk) -> None:
    groups = mika.data("find_actions")["groups"]
    assert list(groups) == ["inner", "recall", "speech"]
    assert "parameters" not in json.dumps(groups)
    assert groups["recall"]["forget_memory"].startswith("記憶を1つ忘れます")
    english = mika.at.agent.replaced(language=Language.EN)
    mika.at = replace(mika.at, agent=english)
    groups = mika.data("find_actions")["groups"]
    assert groups["recall"]["forget_memory"].startswith("Forget one memory")


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("forget memory", "forget_memory"),
        ("記憶を忘れたい", "forget_memory"),
        ("要約を保存", "summarize_and_save"),
        ("IMPRESSION", "update_impression"),
        ("印象", "update_impression"),
    ],
)
def test_a_query_in_either_language_finds_the_action_with_its_arguments(
    mika: Desk, query: str, best: str
) -> None:
    actions = mika.data("find_actions", query=query)["actions"]
    assert actions[0]["name"] == best
    assert actions[0]["parameters"]["properties"]


def test_a_group_can_be_looked_into(mika: Desk) -> None:
    names = ["forget_memory", "save_memory", "search_my_history", "summarize_and_save"]
    assert found(mika, group="recall") == names
    assert found(mika, group="recall", query="forget")[0] == "forget_memory"
    wrong = mika.do("find_actions", group="vaults")
    assert wrong.error == "there is no group 'vaults': one of inner, recall, speech"


def test_nothing_fits_a_query_about_nothing(mika: Desk) -> None:
    assert found(mika, query="zzz qqq") == []


def test_what_a_turn_may_not_use_is_not_found(mika: Desk) -> None:
    mika.on_behalf_of(Authority.PUBLIC, taint=True)
    assert found(mika, group="recall") == ["search_my_history"]
    assert "forget_memory" not in found(mika, query="forget memory")


def test_one_answer_is_never_too_large(mika: Desk) -> None:
    many = Group("many")

    class Wide(Value):
        words: str = "x" * 1_500

    for number in range(20):

        def run(arguments: Wide, context: ActionContext) -> ActionResult:
            """Weigh much."""
            return ActionResult.ok()

        run.__name__ = f"heavy_{number:02}"
        many.action(impact=Impact.READ, effect=Effect.PURE, ja="重い", sentences=("Weigh", "重い"))(
            run
        )
    mika.at = replace(mika.at, actions=Registry((many, group)))
    answer = mika.data("find_actions", group="many")
    assert len(json.dumps(answer, ensure_ascii=False).encode()) <= RESULT_BYTES
    names = [each["name"] for each in answer["actions"]]
    assert 5 < len(names) < 20
    assert names + answer["left_out"] == [f"heavy_{number:02}" for number in range(20)]


def test_use_action_is_unwrapped_before_it_runs_or_is_a_mistake(mika: Desk) -> None:
    result = mika.do("use_action", name="fly", arguments={"to": "月"})
    assert result.error == (
        "'fly' cannot be used through use_action: find_actions lists the actions"
    )
