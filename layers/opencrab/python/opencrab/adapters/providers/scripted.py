"""A model that is no language model: it follows a script, or simple rules, and costs nothing."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event, Lock

from opencrab.adapters.providers.openai_request import encoded
from opencrab.adapters.providers.rules import reply
from opencrab.adapters.providers.script import ScriptedAnswer, choose
from opencrab.domain.money import FREE, Price, Usage
from opencrab.domain.record import Answer
from opencrab.domain.value import MicroUsd
from opencrab.ports.model import ChatRequest, ModelInfo

_BYTES_PER_TOKEN = 4
_NOTE = "no language model: it follows a script or simple rules"


@dataclass(frozen=True)
class Bill:
    """What a provider would charge for, whether or not its answers arrived."""

    calls: int = 0
    micro_usd: MicroUsd = 0


class Scripted:
    """A ChatModel without a network, the same for the same request every time.

    With a script it answers from that; without one it does simple things that it is asked for, and
    says what it is. `bill` counts on the provider's side, so that what a crash made of a call can
    be compared with what was really charged; it counts whatever was received, failures as well.
    """

    def __init__(
        self,
        script: Sequence[ScriptedAnswer] = (),
        *,
        name: str = "scripted:rules",
        price: Price = FREE,
        max_input_tokens: int = 32_768,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self._script = tuple(script)
        self._pause = pause or Event().wait
        self._lock = Lock()
        self._bill = Bill()
        self._info = ModelInfo(
            name=name, max_input_tokens=max_input_tokens, price=price, notes=(_NOTE,)
        )

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def bill(self) -> Bill:
        """Every call that was received so far, and what all of them cost."""
        with self._lock:
            return self._bill

    def encode(self, request: ChatRequest) -> bytes:
        return encoded(request)

    def chat(self, request: ChatRequest, body: bytes) -> Answer:
        scripted = self._scripted(request)
        answer = reply(request) if scripted is None else scripted.answer
        usage = (scripted.usage if scripted else None) or _usage(request, body, answer)
        if scripted is not None and scripted.error:
            return self._fail(scripted, usage)
        self._charge(usage)
        if scripted is not None and scripted.delay_ms:
            self._pause(scripted.delay_ms / 1_000)
        return answer.replaced(model=self._info.name, usage=usage)

    def _scripted(self, request: ChatRequest) -> ScriptedAnswer | None:
        """The script's answer; None when the rules answer."""
        if not self._script:
            return None
        return choose(self._script, request) or ScriptedAnswer(text="(the script has ended)")

    def _fail(self, scripted: ScriptedAnswer, usage: Usage) -> Answer:
        """Fail as told: a call that was refused or never sent is not charged."""
        if scripted.error in {"unavailable", "nonsense"}:
            self._charge(usage)
        if scripted.delay_ms:
            self._pause(scripted.delay_ms / 1_000)
        raise scripted.failure or AssertionError(scripted)

    def _charge(self, usage: Usage) -> None:
        cost = (self._info.price or FREE).cost(usage)
        with self._lock:
            self._bill = Bill(self._bill.calls + 1, self._bill.micro_usd + cost)


def _usage(request: ChatRequest, body: bytes, answer: Answer) -> Usage:
    """A plausible number of tokens, never more than what is reserved for the request."""
    calls = [[call.name, call.arguments] for call in answer.calls]
    said = json.dumps([answer.text, calls], ensure_ascii=False).encode("utf-8", "replace")
    return Usage(
        input_tokens=-(-len(body) // _BYTES_PER_TOKEN),
        output_tokens=min(-(-len(said) // _BYTES_PER_TOKEN), request.max_output_tokens),
    )
