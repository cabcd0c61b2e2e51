"""The registry: what makes a function an action, what models are told, what becomes of errors."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from opencrab.actions import GROUPS, Group, Registry
from opencrab.domain.action import ActionResult, Effect, Impact
from opencrab.domain.errors import (
    Conflict,
    Exhausted,
    Invalid,
    NeverSent,
    NotFound,
    OpenCrabError,
    Refused,
    Unavailable,
)
from opencrab.domain.value import Language, Value
from opencrab.ports.action import Action, ActionContext
from tests.unit.actions.bench import NAMES, REGISTRY, ROUTING, agent

SCHEMA_BYTES = 4_096


class Nothing(Value):
    """No arguments."""


class Loose(BaseModel):
    """Arguments that let anything in."""


class Careless(Value, extra="ignore"):
    """Arguments that overlook mistakes."""


def dance(arguments: Nothing, context: ActionContext) -> ActionResult:
    """Dance like a crab."""
    return ActionResult.done()


def mute(arguments: Nothing, context: ActionContext) -> ActionResult:
    return ActionResult.done()


def loose(arguments: Loose, context: ActionContext) -> ActionResult:
    """Take anything."""
    return ActionResult.done()


def careless(arguments: Careless, context: ActionContext) -> ActionResult:
    """Overlook mistakes."""
    return ActionResult.done()


def untyped(arguments, context):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, RUF100
    """Say nothing of what it takes."""
    return ActionResult.done()


def ready(arguments: Nothing, context: ActionContext) -> dict[str, Any]:
    return {"condition": "absent"}


def registered(function: Callable[..., ActionResult], **details: Any) -> Action:
    """The action that a function becomes."""
    group = Group("test")
    given = {"impact": Impact.SPEECH, "effect": Effect.PURE, "ja": "踊ります。"} | details
    group.action(**given)(function)
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


@pytest.mark.parametrize("argument", ["impact", "effect", "ja"])
def test_an_action_that_does_not_even_name_them_cannot_be_written(argument: str) -> None:
    given: dict[str, Any] = {"impact": Impact.SPEECH, "effect": Effect.PURE, "ja": "踊ります。"}
    del given[argument]
    with pytest.raises(TypeError, match=argument):
        Group("test").action(**given)


def test_a_refused_function_is_in_no_group() -> None:
    group = Group("test")
    with pytest.raises(TypeError):
        group.action(impact=Impact.SPEECH, effect=Effect.KEYED, ja="踊ります。")(dance)
    assert group.actions == []


def test_a_function_becomes_an_action_and_stays_a_function() -> None:
    group = Group("test")
    decorate = group.action(
        impact=Impact.READ, effect=Effect.KEYED, ja="踊り ます。", prepare=ready
    )
    assert decorate(dance) is dance
    (action,) = group.actions
    assert (action.name, action.impact, action.effect) == ("dance", Impact.READ, Effect.KEYED)
    assert action.descriptions == {
        Language.EN: "Dance like a crab.",
        Language.JA: "踊り ます。",
    }


@pytest.mark.parametrize(
    ("given", "ends"),
    [(True, True), (False, False), (lambda arguments: True, True)],
    ids=["always", "never", "by its arguments"],
)
def test_an_action_tells_whether_it_ends_the_turn(given: Any, *, ends: bool) -> None:
    assert registered(dance, ends_turn=given).ends_turn(Nothing()) is ends


def test_two_actions_of_one_name_are_no_installation() -> None:
    groups = [Group("one"), Group("two")]
    for group in groups:
        group.action(impact=Impact.SPEECH, effect=Effect.PURE, ja="踊ります。")(dance)
    with pytest.raises(TypeError, match="two actions are named 'dance'"):
        Registry(groups)


def test_there_are_ten_actions_and_each_effect_class_is_explicit() -> None:
    found = [action.name for group in GROUPS for action in group.actions]
    assert sorted(found) == list(NAMES)
    assert all(REGISTRY.find(name) is not None for name in NAMES)
    assert REGISTRY.find("ws_delete") is None


@pytest.mark.parametrize("language", Language)
def test_all_schemas_are_sorted_and_fit_four_kilobytes(language: Language) -> None:
    schemas = REGISTRY.schemas(agent(language), ROUTING)
    assert [schema.name for schema in schemas] == list(NAMES)
    size = sum(len(schema.model_dump_json().encode()) for schema in schemas)
    assert size < SCHEMA_BYTES, size
    assert REGISTRY.schemas(agent(language), ROUTING) is schemas


def test_an_action_that_is_not_offered_is_in_no_prompt() -> None:
    alone = ROUTING.replaced(self_selection=False)
    names = {schema.name for schema in REGISTRY.schemas(agent(), alone)}
    assert names == set(NAMES) - {"select_llm", "get_available_models", "get_current_llm_config"}


@pytest.mark.parametrize("name", NAMES)
def test_an_action_is_described_in_the_language_of_the_agent(name: str) -> None:
    action = REGISTRY.find(name)
    assert action is not None
    assert action.schema(Language.EN).description.isascii()
    assert not action.schema(Language.JA).description.isascii()
    assert action.schema(Language.EN).parameters == action.schema(Language.JA).parameters


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_allows_no_unknown_arguments_and_wastes_no_words(name: str) -> None:
    action = REGISTRY.find(name)
    assert action is not None
    parameters = action.schema(Language.EN).parameters
    assert parameters["type"] == "object"
    assert parameters["additionalProperties"] is False
    assert '"title"' not in json.dumps(parameters)
    assert "description" not in parameters


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
    assert result == ActionResult.failed(told)


@pytest.mark.parametrize("kind", [Unavailable, NeverSent])
def test_what_is_out_of_order_for_a_while_stays_an_error(
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
    assert action.run(Nothing(), at) == ActionResult.failed("path '../x' is none: use another")


def test_a_preparation_that_must_wait_stays_an_error(at: ActionContext) -> None:
    action = _preparing(Unavailable("disk full"))
    assert action.prepare is not None
    with pytest.raises(Unavailable):
        action.prepare(Nothing(), at)
