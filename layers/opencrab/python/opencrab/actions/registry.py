"""Registration of functions as actions, and the registry of all groups."""

from collections.abc import Callable, Iterable
from functools import cached_property, wraps
from importlib import import_module
from typing import Any, TypedDict, TypeVar, Unpack, get_type_hints

from opencrab.domain.access.authority import Authority, authority_permits
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.agent_state import AgentState, is_skill_in_agent_state
from opencrab.domain.errors import Changed, OpenCrabError, Unavailable
from opencrab.domain.models.routing import Routing
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Language, Value
from opencrab.ports.models.model import ActionSchema
from opencrab.ports.skills import StandardSkills
from opencrab.ports.turn.action import (
    FAILURE,
    Action,
    ActionContext,
    ChangeOf,
    EndsTurn,
    ImpactOf,
    Offered,
    PermitOf,
    Prepare,
    Run,
    TargetsOf,
    action_never_ends_turn,
    turn_call_error_sentence,
)

Arguments = TypeVar("Arguments", bound=Value)

Taints = Callable[[ActionContext, ActionResult], bool]
"""A function that decides whether a result shows words from outside."""


class Details(TypedDict, total=False):
    """Optional keyword arguments of `Group.action`; `Action` says what each means."""

    touches: Callable[[Any], str]
    targets: TargetsOf
    offered: Offered
    impact_of: ImpactOf
    change: ChangeOf
    permit: PermitOf
    for_peers: bool
    argument_bytes: int
    result_bytes: int
    spills: bool


class Group:
    """Actions that belong together, in one module.

    `taints` decides whether a result, or an error, of any of them shows words from outside; it is
    asked about those that do not say so themselves.
    """

    def __init__(self, name: str, *, taints: Taints | None = None) -> None:
        self.name = name
        self._taints = taints
        self.actions: list[Action] = []

    def names(self) -> tuple[str, ...]:
        """Return the names of its actions, without loading them."""
        return tuple(action.name for action in self.actions)

    def action(
        self,
        *,
        impact: Impact,
        effect: Effect,
        ja: str,
        sentences: tuple[str, str],
        ends_turn: bool | EndsTurn = False,
        prepare: Prepare | None = None,
        **details: Unpack[Details],
    ) -> Callable[
        [Callable[[Arguments, ActionContext], ActionResult]],
        Callable[[Arguments, ActionContext], ActionResult],
    ]:
        """Register a function: its name is the action's, its docstring the English prompt.

        Args:
            impact: The impact of a call.
            effect: The behaviour on a retry after a crash.
            ja: The Japanese prompt.
            sentences: The description of a call for people, in English and Japanese.
            ends_turn: True if it ends the turn, or a function of arguments and result.
            prepare: For keyed actions, a function whose stored result makes a retry harmless.
            details: Other fields of `Action`.
        """

        def register(
            function: Callable[[Arguments, ActionContext], ActionResult],
        ) -> Callable[[Arguments, ActionContext], ActionResult]:
            action = Action(
                name=function.__name__,
                group=self.name,
                impact=impact,
                effect=effect,
                arguments=_argument_model(function),
                run=_answering(function, self._taints),
                descriptions={Language.EN: _prompt(function.__doc__), Language.JA: _prompt(ja)},
                sentences=dict(zip((Language.EN, Language.JA), sentences, strict=True)),
                ends_turn=ends_turn if callable(ends_turn) else _ENDS[ends_turn],
                prepare=_keeping_failure(prepare) if prepare else None,
                **details,
            )
            _check(action)
            self.actions.append(action)
            return function

        return register


class LazyGroup(Group):
    """A group whose module loads when one of its actions is asked for.

    Args:
        name: The name of the group.
        module: The module below this package whose `group` has all its actions.
        names: The names of these actions.
    """

    def __init__(self, name: str, module: str, names: str) -> None:
        self.name = name
        self._module = module
        self._names = tuple(names.split())

    def __getattr__(self, name: str) -> Any:
        """Load the module; Python asks here only for attributes that are missing."""
        if name != "actions":
            raise AttributeError(name)
        self.actions = import_module(f"{__package__}.{self._module}").group.actions
        return self.actions

    def names(self) -> tuple[str, ...]:
        return self._names


CORE = frozenset(
    {
        "send_speech",
        "send_noreact",
        "generate_inner_voice",
        "declare_done",
        "find_actions",
        "use_action",
        "use_skill",
    }
)
"""Actions that are part of every prompt."""

_OWN = frozenset({Authority.OWNER, Authority.SELF})


class Registry:
    """The actions of some groups, found by name and described in any language.

    Args:
        groups: Every group.
        skills: The standard skills; those that an agent has enabled unlock their actions.
        absent: Names of actions that this installation cannot offer, as it is configured.
        described: Names of actions that are part of every prompt, beside those of `CORE`.
    """

    def __init__(
        self,
        groups: Iterable[Group],
        skills: StandardSkills | None = None,
        absent: Iterable[str] = (),
        *,
        described: Iterable[str] = (),
    ) -> None:
        self._groups: dict[str, Group] = {}
        self._schemas: dict[tuple[str, ...], tuple[ActionSchema, ...]] = {}
        self._skills = skills
        self._absent = frozenset(absent)
        self._described = CORE.union(described)
        for group in groups:
            for name in group.names():
                if name in self._groups:
                    raise TypeError(f"two actions are named {name!r}")
                self._groups[name] = group

    @cached_property
    def _sorted(self) -> tuple[Action, ...]:
        return self._named(self._groups)

    def _named(self, names: Iterable[str]) -> tuple[Action, ...]:
        found = (self.find(name) for name in sorted(names))
        return tuple(action for action in found if action is not None)

    def find(self, name: str) -> Action | None:
        if name not in self._groups or name in self._absent:
            return None
        return next(each for each in self._groups[name].actions if each.name == name)

    def all(self) -> tuple[Action, ...]:
        return self._sorted

    def allowed(self, agent: Agent, routing: Routing, authority: Authority) -> tuple[Action, ...]:
        return _allowed_actions(self._sorted, agent, routing, authority)

    def schemas(
        self, agent: Agent, routing: Routing, authority: Authority, mind: AgentState
    ) -> tuple[ActionSchema, ...]:
        language = agent.language
        if self._skills is None:
            told = self._sorted
        else:
            told = self._named(self._described | _enabled_skill_actions(self._skills, mind))
        allowed = _allowed_actions(told, agent, routing, authority)
        key = (language, *(action.name for action in allowed))
        if key not in self._schemas:
            self._schemas[key] = tuple(action.schema(language) for action in allowed)
        return self._schemas[key]


def _allowed_actions(
    actions: Iterable[Action], agent: Agent, routing: Routing, authority: Authority
) -> tuple[Action, ...]:
    return tuple(
        action
        for action in actions
        if action.offered(agent, routing)
        and authority_permits(authority, action.impact, for_peers=action.for_peers)
        and (not action.owner_only or authority in _OWN)
    )


def _enabled_skill_actions(skills: StandardSkills, mind: AgentState) -> frozenset[str]:
    """Return the names of the actions that the agent's enabled standard skills unlock."""
    enabled = (skill for skill in skills.all() if is_skill_in_agent_state(skill, mind))
    return frozenset(name for skill in enabled for name in skill.actions)


def _answering(
    function: Callable[[Arguments, ActionContext], ActionResult], taints: Taints | None
) -> Run:
    """Wrap an action so that an error becomes a failed result for the model.

    Unavailable and Changed are raised on: the engine decides whether to retry.
    """

    @wraps(function)
    def run(arguments: Arguments, context: ActionContext) -> ActionResult:
        if FAILURE in context.prepared:
            return ActionResult.failure(context.prepared[FAILURE])
        try:
            return function(arguments, context)
        except (Unavailable, Changed):
            raise
        except OpenCrabError as error:
            return ActionResult.failure(turn_call_error_sentence(error))

    if taints is None:
        return run

    @wraps(function)
    def marking(arguments: Arguments, context: ActionContext) -> ActionResult:
        result = run(arguments, context)
        return result if result.taint else result.replaced(taint=taints(context, result))

    return marking


def _keeping_failure(prepare: Prepare) -> Prepare:
    """Wrap `prepare` so that its error is stored with the intent and `run` returns it."""

    @wraps(prepare)
    def keep(arguments: Any, context: ActionContext) -> dict[str, Any]:
        try:
            return prepare(arguments, context)
        except Unavailable:
            raise
        except OpenCrabError as error:
            return {FAILURE: turn_call_error_sentence(error)}

    return keep


def _always(_arguments: Any, _result: ActionResult) -> bool:
    return True


_ENDS: dict[bool, EndsTurn] = {True: _always, False: action_never_ends_turn}


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
        "a sentence for people in both languages": not all(action.sentences.values()),
        "prepare exactly if it is keyed": (action.effect is Effect.KEYED) != bool(action.prepare),
    }
    missing = [what for what, absent in problems.items() if absent]
    if missing:
        raise TypeError(f"action {action.name!r} needs {', '.join(missing)}")
