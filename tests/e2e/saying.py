"""A model that says its answer word by word, and what happens while it speaks."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from opencrab.adapters.answer_hub import AnswerHub
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.conversation.answers import AnswerPart, Wants
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, ChatModel, ChatRequest
from tests.e2e.house import House

WORD_MS = 60


@dataclass
class Saying:
    """Says the text of the model's answer in words, one each WORD_MS; `happens` before each.

    `said` counts the words of the last call, `billed` is what a vendor would have counted, and
    `asked` what was asked.
    """

    model: ChatModel
    clock: FakeClock
    happens: Callable[[int], object] = lambda _word: None
    said: int = 0
    billed: list[Usage] = field(default_factory=list)
    asked: list[ChatRequest] = field(default_factory=list)

    @property
    def info(self) -> Any:
        return self.model.info

    def encode(self, request: ChatRequest) -> bytes:
        self.asked.append(request)
        return self.model.encode(request)

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        answer = self.model.chat(request, body)
        words = (answer.text or answer.calls[0].name).split(" ")
        for self.said in range(1, len(words) + 1):
            self.happens(self.said)
            self.clock.advance(WORD_MS / 1_000)
            text = " ".join(words[: self.said]) if answer.text else ""
            watch.show(partial(str, text))
            if self.said < len(words) and watch.is_stopped():
                usage = Usage(output_tokens=self.said)
                self.billed.append(usage.replaced(input_tokens=len(body) // 4))
                return ModelAnswer(text=text, finish="stopped", usage=usage)
        self.billed.append(answer.usage)
        return answer


def speak(house: House, happens: Callable[[int], object] = lambda _word: None) -> list[Saying]:
    """Let every model of a house speak so; returns them as they are asked for."""
    models: list[Saying] = []

    def wrapped(model: ChatModel) -> ChatModel:
        models.append(Saying(model, house.clock, happens))
        return cast(ChatModel, models[-1])

    house.provider.wrap = wrapped
    return models


Parts = Callable[[], tuple[AnswerPart, ...]]
"""Gives the parts of answers that have come since the last call."""


def watched(house: House) -> Parts:
    """Watch the session `s` of a house."""
    return _follow(house, lambda session, _agent: session == "s")


def everywhere(house: House) -> Parts:
    """Watch all sessions of a house."""
    return _follow(house, lambda _session, _agent: True)


def can_be_watched(house: House) -> AnswerHub:
    """Give a house a hub, if it has none, before its workers begin."""
    hub = house.runtime.answers
    if not isinstance(hub, AnswerHub):
        hub = AnswerHub()
        house.runtime = replace(house.runtime, answers=hub)
    return hub


def _follow(house: House, wants: Wants) -> Parts:
    box = can_be_watched(house).follow(wants)
    return lambda: box.take()  # noqa: PLW0108 - the lambda keeps the subscription
