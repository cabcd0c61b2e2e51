"""Actions, as the engine runs them: schema, impact, effect class and one function."""

import json
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

from pydantic import BaseModel

from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.conversation.session import Session
from opencrab.domain.goals.goal import ActionReceipt, Goal
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.models.routing import ModelChosen, Routing, RoutingBasis
from opencrab.domain.money.budget import Limits
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language
from opencrab.ports.agents import Agents
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.sessions import Sessions
from opencrab.ports.documents import Documents
from opencrab.ports.memory.search import Search
from opencrab.ports.models.model import ActionSchema, Models
from opencrab.ports.money.budgets import Budgets
from opencrab.ports.skills import StandardSkills
from opencrab.ports.turn.journal import SessionHistory
from opencrab.ports.usage.counters import Tallies
from opencrab.ports.usage.ledger import UsageLedger
from opencrab.ports.web import SearchEngine, Web
from opencrab.ports.workspace.files import Files
from opencrab.ports.world import WorldPost


@dataclass(frozen=True)
class ActionReach:
    """What lies outside a turn's own journal and that its actions may reach.

    Without `sessions` nobody sees another conversation than the present one. `web` and
    `web_search` are None where the operator configured none: then nobody is offered the
    actions that need them. `world` sends messages of agents that are bound to one. `limits` are
    the configured ones; `budgets` knows what was changed about them.
    """

    files: Files
    facts: Documents
    history: SessionHistory
    models: Models
    agents: Agents
    search: Search
    skills: StandardSkills
    usage: UsageLedger
    tallies: Tallies
    budgets: Budgets
    limits: Limits = field(default_factory=Limits)
    sessions: Sessions | None = None
    web: Web | None = None
    web_search: SearchEngine | None = None
    world: WorldPost | None = None


@dataclass(frozen=True)
class ActionContext:
    """What an action may know and touch; `key` is the idempotency key, the same on each retry.

    `basis` is what the turn's routing goes by, `choices` are the models chosen in it so far.
    `receipts` is what has succeeded in this turn; `goal` is the one that the turn serves, read
    when the turn began or changed by it since. `trials` is what is withheld to be measured.
    """

    agent: Agent
    session: Session
    turn: Turn
    key: str
    reach: ActionReach
    clock: Clock
    actions: "Actions"
    mind: AgentState = field(default_factory=AgentState)
    goal: Goal | None = None
    receipts: tuple[ActionReceipt, ...] = ()
    basis: RoutingBasis = field(default_factory=RoutingBasis)
    choices: tuple[ModelChosen, ...] = ()
    trials: TrialSettings = field(default_factory=TrialSettings)
    prepared: dict[str, Any] = field(default_factory=dict)


def never_ends_turn(_arguments: Any, _result: ActionResult) -> bool:
    """Of an action that ends no turn, whatever its arguments and its result."""
    return False


def always_available(_agent: Agent, _routing: Routing) -> bool:
    """Of an action that every agent has."""
    return True


Offered = Callable[[Agent, Routing], bool]
"""Whether an agent has an action at all, as it and the installation are configured."""

Run = Callable[[Any, ActionContext], ActionResult]
Prepare = Callable[[Any, ActionContext], dict[str, Any]]
EndsTurn = Callable[[Any, ActionResult], bool]
ImpactOf = Callable[[Any, ActionContext], Impact]

ARGUMENT_BYTES = 64 * 1024
RESULT_BYTES = 8 * 1024
"""More than this is for the workspace, with its edges for the model to see."""

PAGED_BYTES = 32 * 1024
"""The same for actions that give what they read in pages of their own."""


@dataclass(frozen=True)
class Action:
    """One thing an agent can do.

    `sentences` say for people what a call does, with its arguments in braces. `prepare` belongs to
    keyed actions: it reads the condition that makes a repeat harmless, before the intent is
    written, and `run` gets it back, in this attempt and in every later one. An action that is not
    `offered` to an agent does not exist for it. `ends_turn` tells whether a call, once it has
    succeeded, is the last one. `impact_of` judges one call where that depends on its arguments,
    never as less than `impact`. `for_peers` is said of the few actions beyond speech and reading
    that turns of a peer may use. Arguments and results are limited in bytes of JSON; an action that
    never `spills` stays below by itself, as its result is for whoever asked, and files are for all.
    """

    name: str
    group: str
    impact: Impact
    effect: Effect
    arguments: type[BaseModel]
    run: Run
    descriptions: dict[Language, str]
    sentences: dict[Language, str]
    ends_turn: EndsTurn = never_ends_turn
    prepare: Prepare | None = None
    touches: Callable[[Any], str] | None = None
    offered: Offered = always_available
    impact_of: ImpactOf | None = None
    for_peers: bool = False
    argument_bytes: int = ARGUMENT_BYTES
    result_bytes: int = RESULT_BYTES
    spills: bool = True

    def schema(self, language: Language) -> ActionSchema:
        """The action as a model is told of it."""
        return ActionSchema(
            name=self.name,
            description=self.descriptions[language],
            parameters=_parameters(self.arguments),
        )

    def sentence(self, arguments: Mapping[str, Any], language: Language) -> str:
        """One line for people: what a call with these arguments does; missing ones show as …."""
        return self.sentences[language].format_map(_Shown(arguments))


@cache
def _parameters(arguments: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of the arguments; pydantic takes a millisecond for each that it works out."""
    schema = arguments.model_json_schema()
    parameters: dict[str, Any] = _plain(schema, schema.pop("$defs", {}))
    parameters.pop("description", None)
    return parameters


class _Shown(dict[str, str]):
    """Arguments as one line each, whatever they hold: nobody can write a second line into it."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__({name: one_line(value) for name, value in arguments.items()})

    def __missing__(self, name: str) -> str:
        return "…"


def json_bytes(value: Any) -> int:
    """How much of a result a value takes, with all that JSON escapes."""
    return len(json.dumps(value, ensure_ascii=False).encode())


def one_line(value: Any, limit: int = 80) -> str:
    """A value on one line of visible characters, cut to a length in characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    visible = "".join(
        " " if character.isspace() else character
        for character in text[: limit * 4]
        if character.isspace() or unicodedata.category(character) not in _INVISIBLE
    )
    joined = " ".join(visible.split())
    return joined if len(joined) <= limit else f"{joined[: limit - 1]}…"


_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


_UNTOLD = frozenset(
    {
        "title",
        "$ref",
        "additionalProperties",
        "pattern",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
    }
)
"""Checked by us and not told: a wrong call is answered with what is wrong, and each byte counts."""


def _plain(schema: Any, definitions: dict[str, Any]) -> Any:
    """A schema as short as it can be told: definitions in their places, no limits, no nothings."""
    if isinstance(schema, list):
        return [_plain(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    named = definitions.get(str(schema.get("$ref", "")).rpartition("/")[2], {})
    whole = {key: value for key, value in named.items() if key != "description"} | schema
    if "anyOf" in whole:
        kinds = [kind for kind in whole.pop("anyOf") if kind != {"type": "null"}]
        whole |= kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
        if "$ref" in whole and "$ref" not in schema:
            return _plain(whole, definitions)
    return {
        key: {name: _plain(part, definitions) for name, part in value.items()}
        if key == "properties"
        else _plain(value, definitions)
        for key, value in whole.items()
        if key not in _UNTOLD and not (key == "default" and value in ("", None, [], {}))
    }


class Actions(Protocol):
    """The actions of an installation."""

    def find(self, name: str) -> Action | None:
        """The action of this name, if there is one."""

    def allowed(self, agent: Agent, routing: Routing, authority: Authority) -> tuple[Action, ...]:
        """Every action that turns of this authority may use, sorted by name."""

    def schemas(
        self, agent: Agent, routing: Routing, authority: Authority, mind: AgentState
    ) -> tuple[ActionSchema, ...]:
        """What this agent's models are told, sorted by name; fixed per agent configuration.

        Groups outside the agent's enabled skills are left out: `find_actions` shows them.
        """
