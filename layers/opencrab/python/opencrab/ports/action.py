"""Actions, as the engine runs them: schema, impact, effect class and one function."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import BaseModel

from opencrab.domain.action import ActionResult, Effect, Impact
from opencrab.domain.agent import Agent
from opencrab.domain.routing import Basis, ModelChosen, Routing
from opencrab.domain.session import Session
from opencrab.domain.value import Language
from opencrab.ports.agents import Agents
from opencrab.ports.clock import Clock
from opencrab.ports.files import Files
from opencrab.ports.model import ActionSchema, Models


@dataclass(frozen=True)
class ActionContext:
    """What an action may touch; `key` is the same for every attempt at the same call.

    `basis` is what the turn's routing goes by, `choices` are the models chosen in it so far.
    """

    agent: Agent
    session: Session
    turn_id: str
    key: str
    files: Files
    clock: Clock
    models: Models
    agents: Agents
    basis: Basis = field(default_factory=Basis)
    choices: tuple[ModelChosen, ...] = ()
    prepared: dict[str, Any] = field(default_factory=dict)


def never(_arguments: Any) -> bool:
    """Of an action that ends no turn, whatever its arguments."""
    return False


def always(_agent: Agent, _routing: Routing) -> bool:
    """Of an action that every agent has."""
    return True


Offered = Callable[[Agent, Routing], bool]
"""Whether an agent has an action at all, as it and the installation are configured."""

Run = Callable[[Any, ActionContext], ActionResult]
Prepare = Callable[[Any, ActionContext], dict[str, Any]]


@dataclass(frozen=True)
class Action:
    """One thing an agent can do.

    `prepare` belongs to keyed actions: it reads the condition that makes a repeat harmless, before
    the intent is written, and `run` gets it back, in this attempt and in every later one.
    An action that is not `offered` to an agent does not exist for it. `ends_turn` tells whether a
    call with these arguments, once it has succeeded, is the last one.
    """

    name: str
    impact: Impact
    effect: Effect
    arguments: type[BaseModel]
    run: Run
    descriptions: dict[Language, str]
    ends_turn: Callable[[Any], bool] = never
    prepare: Prepare | None = None
    touches: Callable[[Any], str] | None = None
    offered: Offered = always

    def schema(self, language: Language) -> ActionSchema:
        """The action as a model is told of it."""
        schema = self.arguments.model_json_schema()
        parameters = _plain(schema, schema.pop("$defs", {}))
        parameters.pop("description", None)
        return ActionSchema(
            name=self.name, description=self.descriptions[language], parameters=parameters
        )


def _plain(schema: Any, definitions: dict[str, Any]) -> Any:
    """A schema without titles, and with its definitions in the places that name them."""
    if isinstance(schema, list):
        return [_plain(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    named = definitions.get(str(schema.get("$ref", "")).rpartition("/")[2], {})
    whole = {key: value for key, value in named.items() if key != "description"} | schema
    return {
        key: {name: _plain(part, definitions) for name, part in value.items()}
        if key == "properties"
        else _plain(value, definitions)
        for key, value in whole.items()
        if key not in {"title", "$ref"}
    }


class Actions(Protocol):
    """The actions of an installation."""

    def find(self, name: str) -> Action | None:
        """The action of this name, if there is one."""

    def schemas(self, agent: Agent, routing: Routing) -> tuple[ActionSchema, ...]:
        """What this agent's models are told, sorted by name; fixed per agent configuration."""
