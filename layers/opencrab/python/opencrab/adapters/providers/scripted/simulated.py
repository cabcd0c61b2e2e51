"""Simulated: a stand-in for a model that lives an agent's day, for `opencrab admin simulate`.

What it answers is the player's; here are its price, its tokens, and the port. The same request gets
the same answer; a seed makes it another day.
"""

import json
from typing import Any

from opencrab.adapters.providers.scripted.instruction_plan import (
    instructions_asked_of_scripted_model,
)
from opencrab.adapters.providers.scripted.player import (
    next_step_of_scripted_player,
    plan_of_scripted_player,
)
from opencrab.adapters.providers.scripted.player_prompt import PlayerPrompt
from opencrab.domain.models.routing import Routing
from opencrab.domain.money.budget import Price, Usage
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.ports.models.model import (
    UNWATCHED,
    AnswerWatch,
    CallReturn,
    ChatMessage,
    ChatRequest,
    ModelInfo,
)

NAME = "scripted:simulated"

PRICE = Price(input_per_million=250_000, output_per_million=2_000_000)
"""That of a small hosted model, in micro-dollars for a million tokens."""

_BYTES_PER_TOKEN = 4
_MOST_OUTPUT = 1_024


class SimulatedModel:
    """A deterministic ChatModel without a network; agents with these names break promises."""

    def __init__(self, seed: int, breakers: frozenset[str] = frozenset()) -> None:
        self._seed = seed
        self._breakers = breakers
        self._info = ModelInfo(
            name=NAME, max_input_tokens=128_000, max_output_tokens=_MOST_OUTPUT, price=PRICE
        )
        self.calls = 0

    @property
    def info(self) -> ModelInfo:
        return self._info

    def encode(self, request: ChatRequest) -> bytes:
        turns = [_plain(turn) for turn in request.turns]
        schemas = [schema.model_dump(mode="json") for schema in request.actions]
        body = {"system": request.system, "actions": schemas, "turns": turns}
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()

    def chat(
        self,
        request: ChatRequest,
        body: bytes,
        watch: AnswerWatch = UNWATCHED,  # noqa: ARG002 - it answers at once
    ) -> ModelAnswer:
        self.calls += 1
        calls, text = self._answer(request)
        said = json.dumps([text, [dict(call.arguments or {}) for call in calls]])
        usage = Usage(
            input_tokens=-(-len(body) // _BYTES_PER_TOKEN),
            output_tokens=-(-len(said) // _BYTES_PER_TOKEN),
        )
        finish = "tool_calls" if calls else "stop"
        return ModelAnswer(text=text, calls=calls, usage=usage, finish=finish, model=NAME)

    def _answer(self, request: ChatRequest) -> tuple[tuple[ActionCall, ...], str]:
        if (instructions := instructions_asked_of_scripted_model(request)) is not None:
            return (), plan_of_scripted_player(instructions)
        prompt = PlayerPrompt.of(self._seed, request)
        answer = next_step_of_scripted_player(prompt, self._breakers)
        if isinstance(answer, str):
            return (), answer
        name, arguments = answer
        return (ActionCall(id=f"c{len(prompt.calls)}", name=name, arguments=arguments),), ""


class OnlyModel:
    """`ports.models.model.Models` with one model, whatever name is asked for."""

    def __init__(self, model: SimulatedModel) -> None:
        self._model = model

    @property
    def routing(self) -> Routing:
        return Routing(default=self._model.info.name)

    def get(self, name: str | None) -> SimulatedModel:  # noqa: ARG002 - the port's
        return self._model

    def refresh(self, version: int) -> None:
        """Do nothing: there are no preferences."""


def _plain(turn: ChatMessage | CallReturn) -> Any:
    if isinstance(turn, CallReturn):
        return {"role": "action", "name": turn.name, "content": turn.content}
    calls = [[call.name, call.arguments] for call in turn.calls]
    return {"role": turn.role, "name": turn.name, "content": turn.text, "calls": calls}
