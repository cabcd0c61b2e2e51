"""How a function becomes an action, and how the actions of all groups are found."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar, get_type_hints

from opencrab.domain.action import ActionResult, Effect, Impact
from opencrab.domain.agent import Agent
from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.domain.routing import Routing
from opencrab.domain.value import Language, Value
from opencrab.ports.action import Action, ActionContext, Offered, Prepare, Run, always, never
from opencrab.ports.model import ActionSchema

Arguments = TypeVar("Arguments", bound=Value)

_FAILURE = "failure"


class Group:
    """Actions that belong together, in one module."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.actions: list[Action] = []

    def action(
        self,
        *,
        impact: Impact,
        effect: Effect,
        ja: str,
        ends_turn: bool | Callable[[Any], bool] = False,
        prepare: Prepare | None = None,
        touches: Callable[[Any], str] | None = None,
        offered: Offered = always,
    ) -> Callable[
        [Callable[[Arguments, ActionContext], ActionResult]],
        Callable[[Arguments, ActionContext], ActionResult],
    ]:
        """Register a function: its name is the action's, its docstring the English prompt.

        Args:
            impact: What it touches.
            effect: What a crash may do to it.
            ja: The Japanese prompt.
            ends_turn: Whether the turn is over after it, or how its arguments tell.
            prepare: For keyed actions, what makes a repeat harmless.
            touches: One line for the human who is to approve it.
            offered: Whether an agent has it, by its own and the installation's configuration.
        """

        def register(
            function: Callable[[Arguments, ActionContext], ActionResult],
        ) -> Callable[[Arguments, ActionContext], ActionResult]:
            action = Action(
                name=function.__name__,
                impact=impact,
                effect=effect,
                arguments=_argument_model(function),
                run=_answering(function),
                descriptions={Language.EN: _prompt(function.__doc__), Language.JA: _prompt(ja)},
                ends_turn=ends_turn if callable(ends_turn) else _always if ends_turn else never,
                prepare=_keeping_failure(prepare) if prepare else None,
                touches=touches,
                offered=offered,
            )
            _check(action)
            self.actions.append(action)
            return function

        return register


class Registry:
    """The actions of some groups, found by name and described in any language."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self._actions: dict[str, Action] = {}
        self._schemas: dict[tuple[str, ...], tuple[ActionSchema, ...]] = {}
        for group in groups:
            for action in group.actions:
                if action.name in self._actions:
                    raise TypeError(f"two actions are named {action.name!r}")
                self._actions[action.name] = action

    def find(self, name: str) -> Action | None:
        return self._actions.get(name)

    def schemas(self, agent: Agent, routing: Routing) -> tuple[ActionSchema, ...]:
        language = agent.language
        names = sorted(n for n, action in self._actions.items() if action.offered(agent, routing))
        key = (language, *names)
        if key not in self._schemas:
            self._schemas[key] = tuple(self._actions[name].schema(language) for name in names)
        return self._schemas[key]


def _answering(function: Callable[[Arguments, ActionContext], ActionResult]) -> Run:
    """The one place where an error becomes an answer to the model.

    What is out of order for a while stays an error: the engine decides whether to wait.
    """

    @wraps(function)
    def run(arguments: Arguments, context: ActionContext) -> ActionResult:
        if _FAILURE in context.prepared:
            return ActionResult.failed(context.prepared[_FAILURE])
        try:
            return function(arguments, context)
        except Unavailable:
            raise
        except OpenCrabError as error:
            return ActionResult.failed(_sentence(error))

    return run


def _keeping_failure(prepare: Prepare) -> Prepare:
    """A preparation that fails becomes part of the intent, so that `run` answers with it."""

    @wraps(prepare)
    def keep(arguments: Any, context: ActionContext) -> dict[str, Any]:
        try:
            return prepare(arguments, context)
        except Unavailable:
            raise
        except OpenCrabError as error:
            return {_FAILURE: _sentence(error)}

    return keep


def _sentence(error: OpenCrabError) -> str:
    return f"{error.message}: {error.cure}" if error.cure else error.message


def _always(_arguments: Any) -> bool:
    return True


def _prompt(text: str | None) -> str:
    return " ".join((text or "").split())


def _argument_model(function: Callable[..., ActionResult]) -> type[Value]:
    hints = get_type_hints(function)
    hints.pop("return", None)
    model = next(iter(hints.values()), None)
    if not (isinstance(model, type) and issubclass(model, Value)):
        raise TypeError(f"action {function.__name__!r} needs a Value as its first parameter's type")
    return model


def _check(action: Action) -> None:
    problems = {
        "an impact": not isinstance(action.impact, Impact),
        "an effect": not isinstance(action.effect, Effect),
        "a docstring, its English prompt": not action.descriptions[Language.EN],
        "a Japanese prompt": not action.descriptions[Language.JA],
        "a model that forbids unknown arguments": (
            action.arguments.model_config.get("extra") != "forbid"
        ),
        "prepare exactly if it is keyed": (action.effect is Effect.KEYED) != bool(action.prepare),
    }
    missing = [what for what, absent in problems.items() if absent]
    if missing:
        raise TypeError(f"action {action.name!r} needs {', '.join(missing)}")
