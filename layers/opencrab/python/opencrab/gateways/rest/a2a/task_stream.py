"""Streamed tasks: the words of an answer as updates of its artifact, while the model speaks."""

from collections.abc import Iterator, Mapping
from typing import Any

from opencrab.domain.conversation.message import Line, LineKind
from opencrab.gateways.rest.a2a.client_request import A2aRequest
from opencrab.gateways.rest.a2a.errors import a2a_response_text
from opencrab.gateways.rest.a2a.tasks import (
    ANSWER,
    a2a_file_artifacts,
    a2a_status_of_answer,
    a2a_task_of_answer,
)
from opencrab.gateways.rest.openai.answer import CompletionAnswer
from opencrab.gateways.rest.openai.stream import AnswerStream

Table = Mapping[str, Any]


class A2aTaskStream(AnswerStream):
    """The events of one task: the task, then its words, its files and its last state."""

    def __init__(self, asked: A2aRequest, answer: CompletionAnswer) -> None:
        super().__init__(answer)
        self._asked = asked
        self._begun = False

    def begin(self) -> Iterator[str]:
        """Return the task as it is, without words, which follow from their beginning."""
        yield self._event(task=a2a_task_of_answer(self._asked, self._answer, artifacts=False))

    def words(self, words: str) -> str:
        """Return the update with the next words; the first of them replace what was there."""
        update = self._artifact_update(
            {"artifactId": ANSWER, "name": ANSWER, "parts": [{"text": words}]}
        )
        if self._begun:
            update["append"] = True
        self._begun = True
        return self._event(artifactUpdate=update)

    def end(self) -> Iterator[str]:
        """Return the files that were written, and the state in which the task is now."""
        if self._answer.is_settled:
            for artifact in a2a_file_artifacts(self._asked, self._answer):
                yield self._event(artifactUpdate=self._artifact_update(artifact, last=True))
        status = a2a_status_of_answer(self._asked, self._answer)
        yield self._event(statusUpdate={**self._ids(), "status": status})

    def events_so_far(self) -> Iterator[str]:
        """Return all that there is by now, where an answer is sent as a whole."""
        yield from self.begin()
        said = "\n\n".join(
            line.text for line in self._answer.replies.lines if line.kind is LineKind.SPEECH
        )
        if said:
            yield self.words(said)
        yield from self.end()

    def _of_line(self, line: Line) -> str:
        # What is no speech, as a question for an approval, belongs to the status.
        return super()._of_line(line) if line.kind is LineKind.SPEECH else ""

    def _ids(self) -> dict[str, Any]:
        turn = self._answer.turn
        return {"taskId": turn.id, "contextId": turn.session_id}

    def _artifact_update(self, artifact: Table, *, last: bool = False) -> dict[str, Any]:
        update = {**self._ids(), "artifact": artifact}
        return update | {"lastChunk": True} if last else update

    def _event(self, **result: Any) -> str:
        return f"data: {a2a_response_text(self._asked.message.id, result=result)}\n\n"
