"""What a turn is doing now, for those who watch: a model's answer, and how far a call has come.

Nothing of it is stored, and any of it may be lost: the journal's line is what was said.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class CallProgress:
    """How far a call of an action has come: `done` of `total`, None if nobody knows that.

    `text` is what its server says of it: words from outside, on one line.
    """

    action: str
    done: float
    total: float | None = None
    text: str = ""


class CallProgressWatch(Protocol):
    """Watches a running call of an action, in the thread of its turn."""

    def show(self, done: float, total: float | None, text: str) -> None:
        """Show how far it has come: only the newest, and not more often than people read."""

    def is_stopped(self) -> bool:
        """Show what is due, and check whether its turn was stopped, so that it should end."""


@dataclass(frozen=True)
class AnswerPart:
    """The next part of the answer to a turn's model call `n`, or the `progress` of another call.

    With `starts_over` it replaces everything shown before; `ended` says that no more will come,
    and `withdrawn` with it that no line will have these words.
    """

    session_id: str
    agent_id: str
    turn_id: str
    n: int
    text: str = ""
    starts_over: bool = False
    ended: bool = False
    withdrawn: bool = False
    progress: CallProgress | None = None


Wants = Callable[[str, str], bool]
"""Whether a watcher follows the answers of an agent in a session: (session id, agent id)."""


class AnswerSubscription(Protocol):
    """What one watcher has not seen yet."""

    def take(self) -> tuple[AnswerPart, ...]:
        """Return what has come since the last call, one part for each answer."""

    @property
    def catch_up(self) -> Callable[[], None]:
        """A function that adds all that was said so far of the answers that are wanted now."""


class AnswerFeed(Protocol):
    """The watchers of answers."""

    def follow(self, wants: Wants) -> AnswerSubscription:
        """Begin to watch, as long as the caller keeps the subscription."""

    def is_watched(self, session_id: str, agent_id: str) -> bool:
        """Check whether anybody watches what an agent says in a session."""

    def publish(self, part: AnswerPart) -> None:
        """Give a part to all who watch its session; never waits for a slow watcher."""


class NoWatchers:
    """An AnswerFeed that nobody watches, and the subscription of one who would."""

    def follow(self, wants: Wants) -> "NoWatchers":  # noqa: ARG002 - the port's
        """Return an empty subscription."""
        return self

    def take(self) -> tuple[AnswerPart, ...]:
        """Return nothing."""
        return ()

    def catch_up(self) -> None:
        """Do nothing."""

    def is_watched(self, session_id: str, agent_id: str) -> bool:  # noqa: ARG002 - the port's
        """Return False."""
        return False

    def publish(self, part: AnswerPart) -> None:
        """Do nothing."""
