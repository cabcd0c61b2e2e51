"""Streamed answers: an agent's words as events, while its model still speaks.

What was sent cannot be taken back. Words that the journal's line does not begin with, since another
model took over, stay; the line follows them whole.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any

from fastapi.concurrency import run_in_threadpool

from opencrab.domain.conversation.message import Line
from opencrab.domain.errors import NotFound, Unauthenticated
from opencrab.gateways.rest.http.event_stream import CHECK_SECONDS, HEARTBEAT_SECONDS
from opencrab.gateways.rest.http.polling import Watch
from opencrab.gateways.rest.http.problem_form import http_problem_in
from opencrab.gateways.rest.openai.answer import CompletionAnswer
from opencrab.gateways.rest.openai.errors import openai_error_of_problem
from opencrab.ports.conversation.answers import AnswerPart

_GAP = "\n\n"
_END = "data: [DONE]\n\n"


class AnswerStream(ABC):
    """The words of one answer, told as soon as they are there; subclasses say in which events.

    Every `check_seconds` it is asked whether the client may still hear it.
    """

    check_seconds = CHECK_SECONDS

    def __init__(self, answer: CompletionAnswer) -> None:
        self._answer = answer
        self._shown: dict[int, str] = {}
        self._told = 0
        self._has_spoken = False
        turn_id = answer.turn.id
        session_id, agent_id = answer.turn.session_id, answer.turn.agent_id
        self._turn_id = turn_id
        self._parts = answer.runtime.answers.follow(
            lambda session, agent: (session, agent) == (session_id, agent_id)
        )

    @property
    def answer(self) -> CompletionAnswer:
        """The answer whose words are told."""
        return self._answer

    @abstractmethod
    def begin(self) -> Iterator[str]:
        """Return the events before the first word."""

    @abstractmethod
    def words(self, words: str) -> str:
        """Return the event of the next words."""

    @abstractmethod
    def end(self) -> Iterator[str]:
        """Return the events after the last word, or that of an error."""

    def asides(self) -> list[str]:
        """Return events of what is no words, such as tool calls; a subclass may have some."""
        return []

    async def events(
        self, watch: Watch, seconds: float, key_hash: str
    ) -> AsyncGenerator[str, None]:
        """Stream the answer as server-sent events; it ends with an error if there is none.

        It breaks off when the key of its client was revoked or the session is not shared with it
        any more, which is asked every 15 seconds.
        """
        loop = asyncio.get_running_loop()
        checked = loop.time()
        async with aclosing(self._all_events(watch, seconds)) as found:
            async for event in found:
                if loop.time() - checked >= self.check_seconds:
                    checked = loop.time()
                    if not await run_in_threadpool(self._is_heard_by, key_hash):
                        return
                yield event

    async def _all_events(self, watch: Watch, seconds: float) -> AsyncGenerator[str, None]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        for event in self.begin():
            yield event
        async with watch.watching(self._answer.turn.session_id) as next_change:
            ending = False
            while True:
                news, asides = await run_in_threadpool(lambda: (self._news(), self.asides()))
                for event in (*asides, *map(self.words, news)):
                    yield event
                if ending or self._answer.is_settled or loop.time() >= deadline:
                    break
                if not news:
                    yield ": still here\n\n"
                left = min(HEARTBEAT_SECONDS, deadline - loop.time())
                ending = bool(await next_change(max(left, 0.0)))
        for event in await run_in_threadpool(lambda: list(self.end())):
            yield event

    async def events_of_complete_answer(self) -> AsyncGenerator[str, None]:
        """Stream an answer that is complete."""
        for event in self.begin():
            yield event
        yield self.words(self._answer.text)
        for event in await run_in_threadpool(lambda: list(self.end())):
            yield event

    def _is_heard_by(self, key_hash: str) -> bool:
        try:
            self._answer.require_hearer(key_hash)
        except (Unauthenticated, NotFound):
            return False
        return True

    def _news(self) -> list[str]:
        """Read what is new, and return the words that were not sent yet."""
        replies = self._answer.replies
        replies.look()
        replies.read()
        parts = [part for part in self._parts.take() if part.turn_id == self._turn_id]
        lines, self._told = replies.lines[self._told :], len(replies.lines)
        return [
            words for words in (*map(self._of_part, parts), *map(self._of_line, lines)) if words
        ]

    def _of_part(self, part: AnswerPart) -> str:
        if part.starts_over:
            self._shown.pop(part.n, None)
        if not part.text:
            return ""
        begins = part.n not in self._shown
        self._shown[part.n] = self._shown.get(part.n, "") + part.text
        return self._spaced(part.text) if begins else part.text

    def _of_line(self, line: Line) -> str:
        """Return the words of a line that its parts did not have."""
        for n, shown in self._shown.items():
            if shown and line.text.startswith(shown.strip()):
                del self._shown[n]
                return line.text[len(shown.strip()) :] if shown.strip() != line.text else ""
        return self._spaced(line.text)

    def _spaced(self, words: str) -> str:
        """Return words that begin a message, apart from the one before."""
        spaced = _GAP + words if self._has_spoken else words
        self._has_spoken = True
        return spaced


class CompletionStream(AnswerStream):
    """The chunks of a chat completion; with `usage` the last one has its tokens."""

    def __init__(self, answer: CompletionAnswer, model: str, *, usage: bool) -> None:
        super().__init__(answer)
        self._model = model
        self._usage = usage

    def begin(self) -> Iterator[str]:
        """Return the chunk that says who speaks."""
        yield self._chunk({"role": "assistant", "content": ""})

    def words(self, words: str) -> str:
        """Return a chunk of words."""
        return self._chunk({"content": words})

    def end(self) -> Iterator[str]:
        """Return the chunks after the last word, or an error."""
        error = self._answer.error()
        if error is not None:
            problem = http_problem_in(self._answer.language, error)
            yield _event(openai_error_of_problem(problem))
            return
        calls = self._answer.tool_calls()
        if calls:
            told = [{"index": n, **call.model_dump()} for n, call in enumerate(calls)]
            yield self._chunk({"tool_calls": told})
        yield self._chunk({}, "tool_calls" if calls else "stop")
        if self._usage:
            usage = self._answer.usage().model_dump()
            yield _event(self._told_of({"choices": [], "usage": usage}))
        yield _END

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _event(self._told_of({"choices": [choice]}))

    def _told_of(self, more: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": self._answer.completion_id,
            "object": "chat.completion.chunk",
            "created": self._answer.created,
            "model": self._model,
            **more,
        }


def _event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
