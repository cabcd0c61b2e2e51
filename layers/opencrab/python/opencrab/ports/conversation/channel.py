"""The outbound side: where an utterance becomes visible."""

from dataclasses import dataclass
from typing import Protocol

from opencrab.domain.conversation.message import Channel as Place
from opencrab.domain.conversation.message import Utterance
from opencrab.domain.value import Language


@dataclass(frozen=True)
class PanelRow:
    """One task of a panel: its label, its name, and how it stands (a `TaskStatus`)."""

    label: str
    name: str
    status: str


@dataclass(frozen=True)
class Panel:
    """How far an instruction has come, as a channel shows it; `standing` is a `Standing`."""

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
    """One kind of place to speak."""

    def pieces(self, utterance: Utterance) -> int:
        """In how many pieces it is shown; at least one, and always the same for one utterance."""

    def repeatable(self, utterance: Utterance) -> bool:
        """Whether sending its piece twice, now, shows it once: by its nonce or by its place."""

    def send(self, utterance: Utterance) -> None:
        """Make its piece visible.

        Raises Unavailable (try later), NeverSent (later, and it was certainly not shown), Refused,
        NotFound or Invalid (never).
        """

    def show(self, place: Place, panel: Panel) -> None:
        """Replace what is shown there of an instruction; where nothing can be replaced, nothing.

        Harmless to repeat. Raises as `send` does.
        """
