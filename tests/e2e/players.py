"""Players: models that decide by what their agent is told, so that any order of turns is played."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, ChatMessage, ChatModel, ChatRequest
from tests.e2e.talking import Instead

Decision = str | tuple[str, dict[str, Any]]
"""Words, or the name of an action with its arguments."""


def wrapped(name: str, **arguments: Any) -> Decision:
    """A call by way of `use_action`."""
    return "use_action", {"name": name, "arguments": arguments}


@dataclass
class Players:
    """Players of one table; `heard` is what each was told at each of its model calls."""

    decide: Callable[[str, str], Decision]
    heard: list[tuple[str, str]] = field(default_factory=list)

    def model(self, model: ChatModel) -> ChatModel:
        """For `Provider.wrap`."""
        return cast(ChatModel, _Player(model, self))

    def told(self, name: str) -> list[str]:
        """What one agent was told, call by call."""
        return [shown for who, shown in self.heard if who == name]


@dataclass(frozen=True)
class _Player(Instead):
    players: Players

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        name = self.model.info.name.partition(":")[2]
        shown = "\n".join(said.text for said in request.turns if isinstance(said, ChatMessage))
        self.players.heard.append((name, shown))
        decided, usage = self.players.decide(name, shown), Usage(input_tokens=1, output_tokens=1)
        if isinstance(decided, str):
            return ModelAnswer(text=decided, model=self.model.info.name, usage=usage)
        action, arguments = decided
        call = ActionCall(id=f"x{len(self.players.heard)}", name=action, arguments=arguments)
        return ModelAnswer(text="", calls=(call,), model=self.model.info.name, usage=usage)
