"""Actions, as the engine runs them: schema, impact, effect class and one function."""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

from pydantic import BaseModel

from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import Agent, agent_selectable_aliases
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.agents.heartbeat import agent_time_zone
from opencrab.domain.approvals.call_text import TextChange
from opencrab.domain.conversation.session import Session
from opencrab.domain.document import Document
from opencrab.domain.errors import OpenCrabError
from opencrab.domain.goals.goal import ActionReceipt, Goal
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.memory.clearance import Clearance
from opencrab.domain.models.routing import ModelChosen, Routing, RoutingBasis
from opencrab.domain.money.budget import Limits
from opencrab.domain.text.visible import text_line_showing_hidden
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language
from opencrab.ports.agents import Agents
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.answers import CallProgressWatch
from opencrab.ports.conversation.sessions import Sessions
from opencrab.ports.documents import Documents
from opencrab.ports.memory.search import Search
from opencrab.ports.models.model import ActionSchema, Models
from opencrab.ports.models.readiness import Readiness
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
    """The stores and services outside a turn's own journal that its actions may use.

    Without `sessions` no other session than the present one can be read. `web` and `web_search` are
    None if the operator configured none: then the actions that need them are not offered. `world`
    sends messages of agents that are bound to one. `readiness` says which providers answered, None
    if nobody asks them. `limits` are the configured ones; `budgets` has the changes to them.
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
    readiness: Readiness | None = None
    time_zone: str = "UTC"


@dataclass(frozen=True)
class ActionContext:
    """The data that an action may read and change; `key` is the idempotency key, equal on retries.

    `clearance` is what the turn may read, the least of its asker's and its audience's: whatever an
    action shows must pass it. `basis` are the inputs of the turn's routing, `choices` are the
    models chosen in it so far. `receipts` are the actions that succeeded in this turn; `goal` is
    the one that the turn serves, as of the turn's begin or changed by it since. `trials` are the
    settings of experiments, `task_type` is the turn's. `targets` are those of the call, as they
    were ruled on; None where nobody ruled, as in a preview. `repeats` says that a worker which has
    ended may have run the call before. `watch` is there for an action that is `watched`.
    """

    agent: Agent
    session: Session
    turn: Turn
    key: str
    reach: ActionReach
    clock: Clock
    actions: "Actions"
    clearance: Clearance
    mind: AgentState = field(default_factory=AgentState)
    goal: Goal | None = None
    receipts: tuple[ActionReceipt, ...] = ()
    basis: RoutingBasis = field(default_factory=RoutingBasis)
    choices: tuple[ModelChosen, ...] = ()
    trials: TrialSettings = field(default_factory=TrialSettings)
    task_type: str = ""
    targets: tuple[str, ...] | None = None
    prepared: dict[str, Any] = field(default_factory=dict)
    repeats: bool = False
    watch: CallProgressWatch | None = None

    @property
    def time_zone(self) -> str:
        """The agent's time zone, as an IANA name."""
        return agent_time_zone(self.agent.heartbeat, self.reach.time_zone)


def action_never_ends_turn(_arguments: Any, _result: ActionResult) -> bool:
    """Return False: the default of `Action.ends_turn`."""
    return False


def _always_available(_agent: Agent, _routing: Routing) -> bool:
    """Return True: the default of `Action.offered`."""
    return True


def has_agent_world(agent: Agent, _routing: Routing) -> bool:
    """Check whether the agent is bound to a world: an `Action.offered`."""
    return agent.world is not None


def may_agent_select_models(agent: Agent, routing: Routing) -> bool:
    """Check whether the agent may choose among models: an `Action.offered`."""
    return bool(agent_selectable_aliases(agent, routing))


Offered = Callable[[Agent, Routing], bool]
"""A function that decides whether an agent has an action, by its configuration and the
installation's."""

Run = Callable[[Any, ActionContext], ActionResult]
Prepare = Callable[[Any, ActionContext], dict[str, Any]]
EndsTurn = Callable[[Any, ActionResult], bool]
ImpactOf = Callable[[Any, ActionContext], Impact]
ChangeOf = Callable[[Any, ActionContext], TextChange | None]
PermitOf = Callable[[Any, ActionContext], Document | None]
TargetsOf = Callable[[Any, ActionContext], tuple[str, ...]]

FAILURE = "failure"
"""The key in `prepared` of an error that `run` returns instead of running."""

ARGUMENT_BYTES = 64 * 1024
RESULT_BYTES = 8 * 1024
"""The size above which a result is written to the workspace; the model sees its begin and end."""

PAGED_BYTES = 32 * 1024
"""The same limit for actions that return what they read in pages."""


@dataclass(frozen=True)
class Action:
    """One thing an agent can do.

    `sentences` say for people what a call does, with its arguments in braces. `prepare` belongs to
    keyed actions: it reads the precondition that makes a repeat harmless, before the intent is
    written, and `run` gets it back, in this attempt and in every later one. An action that is not
    `offered` to an agent does not exist for it. `ends_turn` tells whether a call, once it has
    succeeded, is the last one. `impact_of` judges one call if its impact depends on its arguments,
    never as less than `impact`. `change` reads what a call would replace, to show it to those who
    decide. `targets` resolves the workspace paths that a call names, by title or alias too, all of
    them: a grant must cover each, and without a `touches` line of its own an approval shows them
    and is bound to them. `prepare` and a run without it use `ActionContext.targets` and do not
    resolve again. `permit` returns a document if a standing policy of the owner lets an untainted
    turn make this call unasked: it is written with the call and uses the policy up. `for_peers` is
    set for the few actions beyond speech and reading that turns of a peer may use, `owner_only` for
    those that only turns of the owner and the agent itself may; `origin` says where an action is
    declared that is not of this package. Calls of one that is `outside` are run by somebody else,
    while the turn waits; one that is `watched` shows how far it has come, and ends if the turn is
    stopped. Arguments and results are limited in bytes of JSON; larger
    results go to a workspace file if `spills`, else the action limits its results itself.
    """

    name: str
    group: str
    impact: Impact
    effect: Effect
    arguments: type[BaseModel]
    run: Run
    descriptions: dict[Language, str]
    sentences: dict[Language, str]
    ends_turn: EndsTurn = action_never_ends_turn
    prepare: Prepare | None = None
    touches: Callable[[Any], str] | None = None
    targets: TargetsOf | None = None
    offered: Offered = _always_available
    impact_of: ImpactOf | None = None
    change: ChangeOf | None = None
    permit: PermitOf | None = None
    for_peers: bool = False
    owner_only: bool = False
    origin: str = ""
    outside: bool = False
    watched: bool = False
    argument_bytes: int = ARGUMENT_BYTES
    result_bytes: int = RESULT_BYTES
    spills: bool = True

    def schema(self, language: Language) -> ActionSchema:
        """Return the action as described to a model."""
        return ActionSchema(
            name=self.name,
            description=self.descriptions[language],
            parameters=_parameters(self.arguments),
        )

    def sentence(self, arguments: Mapping[str, Any], language: Language) -> str:
        """Describe a call in one line for people; missing arguments show as …."""
        return self.sentences[language].format_map(_Shown(arguments))


def turn_call_error_sentence(error: OpenCrabError) -> str:
    """Return an error's message and cure in one line, for a model."""
    return f"{error.message}: {error.cure}" if error.cure else error.message


@cache
def _parameters(arguments: type[BaseModel]) -> dict[str, Any]:
    """Build the JSON Schema of the arguments; cached, as pydantic takes a millisecond for each."""
    schema = arguments.model_json_schema()
    parameters: dict[str, Any] = _plain(schema, schema.pop("$defs", {}))
    parameters.pop("description", None)
    return parameters


class _Shown(dict[str, str]):
    """Arguments as one visible line each, so that their content cannot add a second line."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__({name: one_visible_line(value) for name, value in arguments.items()})

    def __missing__(self, name: str) -> str:
        return "…"


def byte_count_of_turn_json(value: Any) -> int:
    """Return the size of a value as JSON, in bytes."""
    return len(json.dumps(value, ensure_ascii=False).encode())


def one_line(value: Any, limit: int = 80) -> str:
    """Format a value on one line of visible characters, at most `limit` characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    visible = "".join(
        " " if character.isspace() else character
        for character in text[: limit * 4]
        if character.isspace() or unicodedata.category(character) not in _INVISIBLE
    )
    joined = " ".join(visible.split())
    return joined if len(joined) <= limit else f"{joined[: limit - 1]}…"


def one_visible_line(value: Any, limit: int = 80) -> str:
    """Format a value as `one_line`, with hidden characters written out instead of left out."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    joined = text_line_showing_hidden(_SPACES.sub(" ", text[: limit * 4]).strip(" "))
    return joined if len(joined) <= limit else f"{joined[: limit - 1]}…"


_SPACES = re.compile(r"[ \t\r\n]+")
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
"""Keys left out of schemas: we check them, a wrong call is answered with the problem, and each byte
costs."""


def _plain(schema: Any, definitions: dict[str, Any]) -> Any:
    """Shorten a schema: definitions inlined, without limits, nulls and empty defaults."""
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
        """Return the action of this name, or None."""

    def all(self) -> tuple[Action, ...]:
        """Return the actions of this installation, sorted by name; tools of servers are none."""

    def allowed(self, agent: Agent, routing: Routing, authority: Authority) -> tuple[Action, ...]:
        """Return all actions that turns of this authority may use, sorted by name."""

    def schemas(
        self, agent: Agent, routing: Routing, authority: Authority, mind: AgentState
    ) -> tuple[ActionSchema, ...]:
        """Return the actions described to an agent's models, sorted by name.

        They change only with the agent's configuration. Groups outside the agent's enabled skills
        are left out: `find_actions` shows them.
        """
