"""Actions, as the engine runs them: schema, impact, effect class and one function."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import BaseModel

from opencrab.domain.action import ActionResult, Effect, Impact
from opencrab.domain.agent import Agent
from opencrab.domain.session import Session
from opencrab.domain.value import Language
from opencrab.ports.clock import Clock
from opencrab.ports.files import Files
from opencrab.ports.model import ActionSchema


@dataclass(frozen=True)
class ActionContext:
    """What an action may touch; `key` is the same for every attempt at the same call."""

    agent: Agent
    session: Session
    turn_id: str
    key: str
    files: Files
    clock: Clock
    prepared: dict[str, Any] = field(default_factory=dict)


def never(_arguments: Any) -> bool:
    """Of an action that ends no turn, whatever its arguments."""
    return False


Run = Callable[[Any, ActionContext], ActionResult]
Prepare = Callable[[Any, ActionContext], dict[str, Any]]


@dataclass(frozen=True)
class Action:
    """One thing an agent can do.

    `prepare` belongs to keyed actions: it reads the condition that makes a repeat harmless, before
    the intent is written, and `run` gets it back, in this attempt and in every later one.
    `ends_turn` tells whether a call with these arguments, once it has succeeded, is the last one.
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

    def schema(self, language: Language) -> ActionSchema:
        """The action as a model is told of it."""
        parameters = self.arguments.model_json_schema()
        parameters.pop("title", None)
        for details in parameters.get("properties", {}).values():
            details.pop("title", None)
        parameters.pop("description", None)
        return ActionSchema(
            name=self.name, description=self.descriptions[language], parameters=parameters
        )


class Actions(Protocol):
    """The actions of an installation."""

    def find(self, name: str) -> Action | None:
        """The action of this name, if there is one."""

    def schemas(self, agent: Agent) -> tuple[ActionSchema, ...]:
        """What this agent's models are told, sorted by name; fixed per agent configuration."""
