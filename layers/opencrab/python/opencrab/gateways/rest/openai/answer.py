"""What a turn answered, as a chat completion needs it: words, tokens, or the reason for none."""

from fastapi.concurrency import run_in_threadpool

from opencrab.domain.client_tools import ClientCalls
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.errors import Conflict, Exhausted, OpenCrabError, Unavailable
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ModelResult
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.access.visibility import require_access_to_turn
from opencrab.engine.conversation.key_holders import conversation_connection_holder
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.conversation.replies import Replies, wait_for_session_replies
from opencrab.gateways.rest.http.dependencies import RestContext
from opencrab.gateways.rest.insight.turn_outcome import (
    TurnErrorType,
    TurnErrorView,
    insight_turn_outcome,
)
from opencrab.gateways.rest.openai.messages import ChatUsage
from opencrab.gateways.rest.openai.tool_calls import ToolCall, calls_awaiting_client

SESSION_HEADER, TURN_HEADER = "X-OpenCrab-Session", "X-OpenCrab-Turn"

ANSWER_SECONDS = 600
"""The longest wait for an answer: that of OpenAI's own clients."""


class CompletionAnswer:
    """The answer of one turn, as far as `replies` has read it; errors are in `language`."""

    def __init__(
        self,
        runtime: Runtime,
        replies: Replies,
        language: Language,
        since: ClientCalls | None = None,
    ) -> None:
        self.runtime = runtime
        self.replies = replies
        self.language = language
        self.since = since

    @classmethod
    def of(
        cls,
        runtime: Runtime,
        turn: Turn,
        language: Language,
        since: ClientCalls | None = None,
    ) -> "CompletionAnswer":
        """Return the answer of a turn, of which nothing was read yet.

        With `since` it is what the turn says after its client ran these calls.
        """
        after = None if since is None else since.until_line
        replies = Replies(runtime.home.journal, (turn,), after=after)
        return cls(runtime, replies, language, since)

    def headers(self) -> dict[str, str]:
        """Return the headers that tell session and turn."""
        return {SESSION_HEADER: self.turn.session_id, TURN_HEADER: self.turn.id}

    @property
    def turn(self) -> Turn:
        """The turn, as it was last read."""
        return self.replies.turns[0]

    @property
    def completion_id(self) -> str:
        """The id of the completion, which names the turn."""
        return f"chatcmpl-{self.part_id}"

    @property
    def part_id(self) -> str:
        """The id of this part of the turn: that of the turn, and what it waited for before."""
        return self.turn.id if self.since is None else f"{self.turn.id}_{self.since.n}"

    @property
    def created(self) -> int:
        """When the turn was admitted, in seconds since 1970."""
        return int(self.turn.created_at.timestamp())

    @property
    def is_settled(self) -> bool:
        """True if nothing more comes unless a human acts."""
        return self.turn.status not in {TurnStatus.QUEUED, TurnStatus.RUNNING}

    @property
    def text(self) -> str:
        """All that was said, and what the agent waits for."""
        return "\n\n".join(line.text for line in self.replies.lines)

    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls that the client has to run before the turn goes on."""
        return calls_awaiting_client(self.runtime, self.turn)

    def require_answered(self) -> None:
        """Raise the reason why the turn ended without an answer; an agent may choose silence."""
        error = self.error()
        if error is not None:
            raise error

    def error(self) -> OpenCrabError | None:
        """Return why the turn brought no answer; None if it did, or chose silence."""
        if not self.is_settled:
            return Unavailable(
                "the agent has not answered yet",
                cure="send the same request again: it waits for the same answer",
            )
        if any(line.kind is LineKind.SPEECH for line in self.replies.lines):
            return None
        outcome = insight_turn_outcome(self.runtime.home.journal, self.turn, self.language)
        return None if outcome.error is None else _error(outcome.error)

    def require_hearer(self, key_hash: str) -> None:
        """Raise Unauthenticated or NotFound if the key with this hash may not hear it any more.

        Ask after each wait: the key may have been revoked, or the session is not shared with it.
        """
        home = self.runtime.home
        who = conversation_connection_holder(home.keys, key_hash)
        require_access_to_turn(home, who, self.turn)

    def usage(self) -> ChatUsage:
        """Add up the tokens of the turn's model calls, those of this part of it."""
        records = self.runtime.home.journal.load(self.turn.id).records
        first = 0 if self.since is None else self.since.n
        return ChatUsage.of(
            used
            for record in records
            if isinstance(record, ModelResult)
            and record.n > first
            and (used := _used(record)) is not None
        )


async def wait_for_chat_completion(
    api: RestContext, answer: CompletionAnswer, key_hash: str
) -> None:
    """Wait until a turn is settled; ends early when the request must end.

    Raises Unauthenticated or NotFound if the key with this hash may not hear it any more.
    """
    seconds = api.capped_wait(ANSWER_SECONDS) or ANSWER_SECONDS
    replies = answer.replies
    async with api.watch.watching(answer.turn.session_id, settled=True) as next_change:
        # How the turns are now, as a change before this is not noticed any more.
        await run_in_threadpool(replies.look)
        await wait_for_session_replies(replies, next_change, seconds, lambda: True)
    await run_in_threadpool(answer.require_hearer, key_hash)


def _used(result: ModelResult) -> Usage | None:
    return result.answer.usage if result.answer is not None else result.usage


def _error(found: TurnErrorView) -> OpenCrabError:
    match found.type:
        case TurnErrorType.EXHAUSTED:
            return Exhausted(found.message, cure=found.cure)
        case TurnErrorType.FROZEN | TurnErrorType.STOPPED:
            return Conflict(found.message, cure=found.cure)
        case _:
            fault = found.fault or Fault.SERVER_ERROR
            return ModelCallFailed(found.message, fault, cure=found.cure)
