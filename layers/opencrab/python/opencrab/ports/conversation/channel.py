"""The outbound side: where an utterance becomes visible."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from opencrab.domain.conversation.message import Channel as Place
from opencrab.domain.conversation.message import Utterance
from opencrab.domain.value import Language


@dataclass(frozen=True)
class PanelRow:
    """One task of a panel: its label, its name, and its status (a `TaskStatus`)."""

    label: str
    name: str
    status: str


@dataclass(frozen=True)
class Panel:
    """The progress of an instruction as a channel shows it; `standing` is a `Standing`."""

    agent_id: str
    agent_name: str
    goal: str
    name: str
    language: Language
    standing: str
    percent: int
    rows: tuple[PanelRow, ...]
    note: str
    over: bool


class DeliveryChannel(Protocol):
    """A kind of channel to which utterances are delivered."""

    def piece_count(self, utterance: Utterance) -> int:
        """Count the pieces in which an utterance is shown: at least 1, always the same."""

    def is_idempotent(self, utterance: Utterance) -> bool:
        """Check whether sending the present piece twice, now, shows it once."""

    def send(self, utterance: Utterance) -> None:
        """Deliver the present piece.

        Raises Unavailable (retry later), NeverSent (retry later; it was certainly not shown),
        Refused, NotFound or Invalid (never retry).
        """

    def show(self, place: Place, panel: Panel) -> None:
        """Replace the progress panel of an instruction; does nothing if it cannot be replaced.

        A repeat is harmless. Raises the same errors as `send`.
        """


class AnswerPreview(Protocol):
    """What people who wait for a turn see while the model still writes its first answer.

    Nothing of it counts: the utterance that is delivered in its place says what was said.
    """

    def show(self, text: Callable[[], str]) -> None:
        """Show the words so far, if it is time for it; `text` is called only then.

        Never waits and never fails.
        """

    def end(self) -> None:
        """Show nothing more, and return once nothing is on its way: what comes later is last."""


class PreviewChannel(Protocol):
    """A kind of channel that shows answers while they are being written."""

    def preview(self, place: Place, turn_id: str, began_ms: float) -> AnswerPreview | None:
        """Return the preview of a model call's answer; None where nothing can be shown.

        The call began at `began_ms`, in monotonic time.
        """
