"""A model that is no language model: it follows a script, or simple rules, and costs nothing."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Event, Lock
from typing import Any

from opencrab.adapters.providers.scripted.instruction_plan import (
    instructions_asked_of_scripted_model,
)
from opencrab.adapters.providers.scripted.rules import scripted_reply
from opencrab.adapters.providers.scripted.script import ScriptedAnswer, scripted_answer
from opencrab.domain.money.budget import FREE, Price, Usage
from opencrab.domain.turn.record import ModelAnswer
from opencrab.domain.value import MicroUsd
from opencrab.ports.models.model import (
    UNWATCHED,
    AnswerWatch,
    CallReturn,
    ChatMessage,
    ChatRequest,
    ModelInfo,
)

_BYTES_PER_TOKEN = 4
_CHECK_MS = 50
_NOTE = "not a language model: it follows a script or simple rules"


@dataclass(frozen=True)
class ScriptedBill:
    """The calls and cost that a provider would charge, whether or not answers arrived."""

    calls: int = 0
    micro_usd: MicroUsd = 0


class Scripted:
    """A deterministic ChatModel without a network.

    With a script it answers from that; without one it follows simple rules and says what it is.
    `bill` counts on the provider's side, failures as well, so that a test can compare the ledger
    after a crash with what was really charged. `info` overrides name, price and limit and adds
    abilities: without functions the model makes no tool calls, without vision it gets no images.
    """

    def __init__(
        self,
        script: Sequence[ScriptedAnswer] = (),
        *,
        name: str = "scripted:rules",
        price: Price = FREE,
        max_input_tokens: int = 32_768,
        pause: Callable[[float], object] | None = None,
        info: ModelInfo | None = None,
    ) -> None:
        self._script = tuple(script)
        self._pause = pause or Event().wait
        self._lock = Lock()
        self._bill = ScriptedBill()
        self._info = info or ModelInfo(
            name=name, max_input_tokens=max_input_tokens, price=price, notes=(_NOTE,)
        )

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def bill(self) -> ScriptedBill:
        """All calls received so far, and their total cost in micro-dollars."""
        with self._lock:
            return self._bill

    def encode(self, request: ChatRequest) -> bytes:
        body = json.dumps(self._body(request), ensure_ascii=False, separators=(",", ":"))
        return body.encode("utf-8", "replace")

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        scripted = self._scripted(request)
        answer = self._reply(request) if scripted is None else scripted.answer
        usage = (scripted.usage if scripted else None) or _usage(request, body, answer)
        failure = scripted.failure if scripted else None
        if failure is None or failure.may_be_billed:
            self._charge(usage)
        delay_ms = scripted.delay_ms if scripted else 0
        said = self._say(answer.text, delay_ms, watch) if delay_ms else None
        if said is not None:
            answer = ModelAnswer(text=said, finish="stopped")
            billed, usage = usage, _usage(request, body, answer)
            self._charge(usage, instead_of=billed)
        elif failure is not None:
            raise failure
        return answer.replaced(model=self._info.name, usage=usage, first_token_ms=delay_ms)

    def _say(self, text: str, delay_ms: int, watch: AnswerWatch) -> str | None:
        """Let the words of an answer come one by one; returns those of a stopped call, else None.

        A call that nobody watches has one pause.
        """
        words = [""] if watch is UNWATCHED else re.findall(r"\S+\s*|\s+", text) or [""]
        steps = max(len(words), delay_ms // _CHECK_MS) if watch is not UNWATCHED else 1
        for step in range(1, steps + 1):
            self._pause(delay_ms / steps / 1_000)
            said = "".join(words[: len(words) * step // steps])
            watch.show(partial(str, said))
            if step < steps and watch.is_stopped():
                return said
        return None

    def _reply(self, request: ChatRequest) -> ModelAnswer:
        return scripted_reply(request if self._info.functions else replace(request, actions=()))

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        """Build a request body of realistic size, similar to vendors' formats."""
        body: dict[str, Any] = {"model": request.model}
        if request.actions and self._info.functions:
            body["actions"] = [action.model_dump(mode="json") for action in request.actions]
        system = [{"role": "system", "content": request.system}] if request.system else []
        body["messages"] = [*system, *(self._message(turn) for turn in request.turns)]
        return body | {"max_tokens": request.max_output_tokens}

    def _message(self, turn: ChatMessage | CallReturn) -> dict[str, Any]:
        if isinstance(turn, CallReturn):
            return {"role": "action", "call_id": turn.call_id, "content": turn.content}
        message: dict[str, Any] = {"role": turn.role, "content": turn.text}
        if turn.name:
            message["name"] = turn.name
        if turn.calls:
            message["calls"] = [[call.id, call.name, call.arguments] for call in turn.calls]
        if turn.images and self._info.vision:
            message["images"] = [image.data for image in turn.images]
        return message

    def _scripted(self, request: ChatRequest) -> ScriptedAnswer | None:
        """Return the script's answer; None without a script, so that the rules answer.

        A plan of standing instructions is always the rules': a script is for conversations.
        """
        if not self._script or instructions_asked_of_scripted_model(request) is not None:
            return None
        found = scripted_answer(self._script, request) or ScriptedAnswer(
            text="(the script has ended)"
        )
        return found if self._info.functions else replace(found, calls=())

    def _charge(self, usage: Usage, *, instead_of: Usage | None = None) -> None:
        """Add a call to the bill, or correct the one that was billed as `instead_of`."""
        price, calls = self._info.price or FREE, 1
        cost = price.cost(usage)
        if instead_of is not None:
            calls, cost = 0, cost - price.cost(instead_of)
        with self._lock:
            self._bill = ScriptedBill(self._bill.calls + calls, self._bill.micro_usd + cost)


def _usage(request: ChatRequest, body: bytes, answer: ModelAnswer) -> Usage:
    """Return a plausible number of tokens, never more than is reserved for the request."""
    calls = [[call.name, call.arguments] for call in answer.calls]
    said = json.dumps([answer.text, calls], ensure_ascii=False).encode("utf-8", "replace")
    return Usage(
        input_tokens=-(-len(body) // _BYTES_PER_TOKEN),
        output_tokens=min(-(-len(said) // _BYTES_PER_TOKEN), request.max_output_tokens),
    )
