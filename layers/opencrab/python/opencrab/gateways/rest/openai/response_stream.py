"""Streamed responses: the words of an answer, in events of OpenAI's Responses.

Source of the format: OpenAI's API reference, "Responses: streaming events".
"""

import json
from collections.abc import Iterator
from typing import Any

from opencrab.gateways.rest.openai.answer import CompletionAnswer
from opencrab.gateways.rest.openai.response_object import (
    ResponseMessage,
    ResponseObject,
    ResponseText,
    response_as_begun,
    response_message_id,
    response_of_answer,
)
from opencrab.gateways.rest.openai.stream import AnswerStream


class ResponseStream(AnswerStream):
    """The events of one response, which is one message."""

    def __init__(self, answer: CompletionAnswer, asked: ResponseObject) -> None:
        super().__init__(answer)
        self._asked = asked
        self._number = -1
        self._said = ""
        self._id = response_message_id(answer)

    def begin(self) -> Iterator[str]:
        """Return the events that open the response and its message."""
        begun = response_as_begun(self._answer, self._asked).model_dump(mode="json")
        yield self._event("response.created", response=begun)
        yield self._event("response.in_progress", response=begun)
        message = ResponseMessage(id=self._id, status="in_progress")
        item = message.model_dump(mode="json")
        yield self._event("response.output_item.added", output_index=0, item=item)
        yield self._part("response.content_part.added", "")

    def words(self, words: str) -> str:
        """Return the event of the next words."""
        self._said += words
        return self._of_text("response.output_text.delta", delta=words, logprobs=[])

    def end(self) -> Iterator[str]:
        """Return the events that close message and response; a failed one says why."""
        response = response_of_answer(self._answer, self._asked)
        if response.status == "completed":
            yield self._of_text("response.output_text.done", text=self._said, logprobs=[])
            yield self._part("response.content_part.done", self._said)
            (message,) = response.output
            item = message.model_dump(mode="json")
            yield self._event("response.output_item.done", output_index=0, item=item)
        # What is not settled yet is no failure: the same request again waits for the same answer.
        ending = {"completed": "completed", "failed": "failed"}.get(response.status, "incomplete")
        told = response.model_dump(mode="json")
        yield self._event(f"response.{ending}", response=told)

    def _part(self, kind: str, text: str) -> str:
        return self._of_text(kind, part=ResponseText(text=text).model_dump(mode="json"))

    def _of_text(self, kind: str, **more: Any) -> str:
        return self._event(kind, item_id=self._id, output_index=0, content_index=0, **more)

    def _event(self, kind: str, **more: Any) -> str:
        self._number += 1
        told = {"type": kind, "sequence_number": self._number, **more}
        return f"event: {kind}\ndata: {json.dumps(told, ensure_ascii=False)}\n\n"
