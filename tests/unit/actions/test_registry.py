"""The registry: what makes a function an action, and what becomes of its errors."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel

from opencrab.actions import GROUPS, Group, Registry
from opencrab.actions.registry import LazyGroup
from opencrab.adapters.skill_files import FileSkills
from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.errors import (
    Changed,
    Conflict,
    Exhausted,
    Invalid,
    NeverSent,
    NotFound,
    OpenCrabError,
    Refused,
    Unavailable,
)
from opencrab.domain.models.routing import Routing
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Language, Value
from opencrab.ports.turn.action import Action, ActionContext
from tests.conftest import ROOT

GIVEN: dict[str, Any] = {
    "impact": Impact.SPEECH,
    "effect": Effect.PURE,
    "ja": "踊ります。",
    "sentences": ("Dance", "踊る"),
}


class Nothing(Value):
    """No arguments."""


class Loose(BaseModel):
    """Arguments that let anything in."""


class Careless(Value, extra="ignore"):
    """Arguments that overlook mistakes."""


def dance(arguments: Nothing, context: ActionContext) -> ActionResult:
    """Dance like a crab."""
    return ActionResult.ok()


def mute(arguments: Nothing, context: ActionContext) -> ActionResult:
    return ActionResult.ok()


def loose(arguments: Loose, context: ActionContext) -> ActionResult:
    """Take anything."""
    return ActionResult.ok()


def careless(arguments: Careless, context: ActionContext) -> ActionResult:
    """Overlook mistakes."""
    return ActionResult.ok()


def untyped(arguments, context):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, RUF100
    """Say nothing of what it takes."""
    return ActionResult.ok()


def ready(arguments: Nothing, context: ActionContext) -> dict[str, Any]:
    return {"condition": "absent"}


def registered(function: Callable[..., ActionResult], **details: Any) -> Action:
    """The action that a function becomes."""
    group = Group("test")
    group.action(**GIVEN | details)(function)
    (action,) = group.actions
    return action


def failing(error: OpenCrabError, **details: Any) -> Action:
    """An action that ends in an error."""

    def fail(arguments: Nothing, context: ActionContext) -> ActionResult:
        """Fail."""
        raise error

    return registered(fail, **details)


@pytest.mark.parametrize(
    ("function", "details", "missing"),
    [
        (dance, {"impact": None}, "an impact"),
        (dance, {"effect": None}, "an effect"),
        (dance, {"impact": "speech"}, "an impact"),
        (dance, {"ja": ""}, "a Japanese prompt"),
        (dance, {"ja": " \n"}, "a Japanese prompt"),
        (dance, {"sentences": ("", "踊る")}, "a sentence for people in both languages"),
        (dance, {"sentences": ("Dance", "")}, "a sentence for people in both languages"),
        (mute, {}, "a docstring"),
        (dance, {"effect": Effect.KEYED}, "prepare exactly if it is keyed"),
        (dance, {"prepare": ready}, "prepare exactly if it is keyed"),
        (careless, {}, "forbids unknown arguments"),
        (loose, {}, "needs a Value as its first parameter"),
        (untyped, {}, "needs a Value as its first parameter"),
    ],
)
def test_an_action_lacking_anything_does_not_register(
    function: Callable[..., ActionResult], details: dict[str, Any], missing: str
) -> None:
    with pytest.raises(TypeError, match=missing):
        registered(function, **details)


@pytest.mark.parametrize("argument", GIVEN)
def test_an_action_that_does_not_even_name_them_cannot_be_written(argument: str) -> None:
    given = {name: value for name, value in GIVEN.items() if name != argument}
    with pytest.raises(TypeError, match=argument):
        Group("test").action(**given)


def test_a_sentence_in_one_language_is_no_pair() -> None:
    with pytest.raises(ValueError, match="zip"):
        registered(dance, sentences=("Dance",))


def test_a_refused_function_is_in_no_group() -> None:
    group = Group("test")
    with pytest.raises(TypeError):
        group.action(**GIVEN | {"effect": Effect.KEYED})(dance)
    assert group.actions == []


def test_a_function_becomes_an_action_and_stays_a_function() -> None:
    group = Group("test")
    decorate = group.action(
        impact=Impact.READ,
        effect=Effect.KEYED,
        ja="踊り ます。",
        sentences=("Dance to {tune}", "{tune}で踊る"),
        prepare=ready,
    )
    assert decorate(dance) is dance
    (action,) = group.actions
    assert (action.name, action.group) == ("dance", "test")
    assert (action.impact, action.effect) == (Impact.READ, Effect.KEYED)
    assert action.sentences == {Language.EN: "Dance to {tune}", Language.JA: "{tune}で踊る"}
    assert action.descriptions == {
        Language.EN: "Dance like a crab.",
        Language.JA: "踊り ます。",
    }


@pytest.mark.parametrize(
    ("given", "ends"),
    [
        (True, True),
        (False, False),
        (lambda arguments, result: arguments == Nothing(), True),
        (lambda arguments, result: result.data == {"over": True}, True),
        (lambda arguments, result: result.data == {"over": False}, False),
    ],
    ids=["always", "never", "by its arguments", "by its result", "not by its result"],
)
def test_an_action_tells_whether_it_ends_the_turn(given: Any, *, ends: bool) -> None:
    result = ActionResult.ok(over=True)
    assert registered(dance, ends_turn=given).ends_turn(Nothing(), result) is ends


def test_two_actions_of_one_name_are_no_installation() -> None:
    groups = [Group("one"), Group("two")]
    for group in groups:
        group.action(**GIVEN)(dance)
    with pytest.raises(TypeError, match="two actions are named 'dance'"):
        Registry(groups)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_a_group_names_what_its_module_has(group: Group) -> None:
    assert group.names() == tuple(action.name for action in group.actions)
    assert {action.group for action in group.actions} == {group.name}


def test_a_group_loads_with_the_first_of_its_actions_that_is_asked_for() -> None:
    vault = LazyGroup("vault", "vault.edit", "read_note rename_note")
    registry = Registry([vault])
    assert registry.find("web_fetch") is None
    assert "actions" not in vars(vault)
    found = registry.find("rename_note")
    assert found is not None
    assert found.group == "vault"
    assert not hasattr(vault, "unheard_of")


def test_a_prompt_loads_the_groups_of_enabled_skills_only() -> None:
    groups = [
        LazyGroup("speech", "speech", "send_speech send_noreact"),
        LazyGroup("vault", "vault.edit", "read_note"),
    ]
    registry = Registry(groups, FileSkills(ROOT / "skills"))
    now = datetime(2026, 3, 1, tzinfo=UTC)
    crab = Agent(id="a1", name="蟹", language=Language.JA, created_at=now, updated_at=now)
    told = registry.schemas(crab, Routing(default="x:y"), Authority.OWNER, AgentState())
    assert [schema.name for schema in told] == ["send_noreact", "send_speech"]
    assert ["actions" in vars(group) for group in groups] == [True, False]


@pytest.mark.parametrize("kind", [Invalid, NotFound, Conflict, Refused, Exhausted])
@pytest.mark.parametrize(
    ("message", "cure", "told"),
    [
        ("ファイルがありません", "一覧を見る", "ファイルがありません: 一覧を見る"),
        ("it is gone", None, "it is gone"),
    ],
)
def test_an_error_becomes_an_answer_to_the_model(
    kind: type[OpenCrabError], message: str, cure: str | None, told: str, at: ActionContext
) -> None:
    result = failing(kind(message, cure=cure)).run(Nothing(), at)
    assert result == ActionResult.failure(told)


@pytest.mark.parametrize("kind", [Unavailable, NeverSent, Changed])
def test_what_the_engine_decides_about_stays_an_error(
    kind: type[OpenCrabError], at: ActionContext
) -> None:
    with pytest.raises(kind):
        failing(kind("disk full")).run(Nothing(), at)


def test_a_defect_is_never_hidden_from_the_engine(at: ActionContext) -> None:
    def broken(arguments: Nothing, context: ActionContext) -> ActionResult:
        """Break."""
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        registered(broken).run(Nothing(), at)


def _preparing(error: OpenCrabError) -> Action:
    def prepare(arguments: Nothing, context: ActionContext) -> dict[str, Any]:
        raise error

    return registered(dance, effect=Effect.KEYED, prepare=prepare)


def test_a_preparation_that_fails_is_what_the_call_answers(at: ActionContext) -> None:
    action = _preparing(Invalid("path '../x' is none", cure="use another"))
    assert action.prepare is not None
    kept = action.prepare(Nothing(), at)
    assert json.loads(json.dumps(kept)) == kept
    at.prepared.update(kept)
    assert action.run(Nothing(), at) == ActionResult.failure("path '../x' is none: use another")


def test_a_preparation_that_must_wait_stays_an_error(at: ActionContext) -> None:
    action = _preparing(Unavailable("disk full"))
    assert action.prepare is not None
    with pytest.raises(Unavailable):
        action.prepare(Nothing(), at)
