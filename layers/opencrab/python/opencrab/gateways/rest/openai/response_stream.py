"""Streamed responses: the words of an answer, in events of OpenAI's Responses.

Source of the format: OpenAI's API reference, "Responses: streaming events".
"""

import json
from collections.abc import Iterator
from typing import Any

from opencrab.gateways.rest.openai.answer import CompletionAnswer
from opencrab.gateways.rest.openai.response_object import (
    ResponseFunctionCall,
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
        self._is_open = False
        self._id = response_message_id(answer)

    def begin(self) -> Iterator[str]:
        """Return the events that open the response."""
        begun = response_as_begun(self._answer, self._asked).model_dump(mode="json")
        yield self._event("response.created", response=begun)
        yield self._event("response.in_progress", response=begun)

    def words(self, words: str) -> str:
        """Return the event of the next words; the first ones open the message."""
        opened = "" if self._is_open or not words else self._open_message()
        self._said += words
        if not self._is_open:
            return ""
        return opened + self._of_text("response.output_text.delta", delta=words, logprobs=[])

    def end(self) -> Iterator[str]:
        """Return the events that close message and response; a failed one says why."""
        response = self._with_words(response_of_answer(self._answer, self._asked))
        if response.status == "completed":
            for place, item in enumerate(response.output):
                told = item.model_dump(mode="json")
                if isinstance(item, ResponseFunctionCall):
                    yield from self._call(place, told)
                    continue
                if not self._is_open:
                    yield self._open_message()
                yield self._of_text("response.output_text.done", text=self._said, logprobs=[])
                yield self._part("response.content_part.done", self._said)
                yield self._event("response.output_item.done", output_index=place, item=told)
        # What is not settled yet is no failure: the same request again waits for the same answer.
        ending = {"completed": "completed", "failed": "failed"}.get(response.status, "incomplete")
        told = response.model_dump(mode="json")
        yield self._event(f"response.{ending}", response=told)

    def _with_words(self, response: ResponseObject) -> ResponseObject:
        """Return a response with the message that was begun, which calls must not displace.

        Models say something before they call a tool, of which no line is kept.
        """
        kept = any(isinstance(item, ResponseMessage) for item in response.output)
        if kept or not self._is_open or response.status != "completed":
            return response
        said = ResponseMessage(id=self._id, content=(ResponseText(text=self._said),))
        return response.replaced(output=(said, *response.output))

    def _open_message(self) -> str:
        self._is_open = True
        item = ResponseMessage(id=self._id, status="in_progress").model_dump(mode="json")
        added = self._event("response.output_item.added", output_index=0, item=item)
        return added + self._part("response.content_part.added", "")

    def _call(self, place: int, item: dict[str, Any]) -> Iterator[str]:
        """Return the events of one call, whose arguments come as one piece."""
        begun = {**item, "status": "in_progress", "arguments": ""}
        named = {"item_id": item["id"], "output_index": place}
        yield self._event("response.output_item.added", output_index=place, item=begun)
        delta, whole = "response.function_call_arguments.delta", item["arguments"]
        yield self._event(delta, **named, delta=whole)
        done = "response.function_call_arguments.done"
        yield self._event(done, **named, name=item["name"], arguments=whole)
        yield self._event("response.output_item.done", output_index=place, item=item)

    def _part(self, kind: str, text: str) -> str:
        return self._of_text(kind, part=ResponseText(text=text).model_dump(mode="json"))

    def _of_text(self, kind: str, **more: Any) -> str:
        return self._event(kind, item_id=self._id, output_index=0, content_index=0, **more)

    def _event(self, kind: str, **more: Any) -> str:
        self._number += 1
        told = {"type": kind, "sequence_number": self._number, **more}
        return f"event: {kind}\ndata: {json.dumps(told, ensure_ascii=False)}\n\n"
