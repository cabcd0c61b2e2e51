"""The outbound side: where an utterance becomes visible."""

from typing import Protocol

from opencrab.domain.utterance import Utterance


class Channel(Protocol):
    """One kind of place to speak."""

    @property
    def repeatable(self) -> bool:
        """Whether the place recognises a nonce, so that sending twice shows once."""

    def send(self, utterance: Utterance) -> None:
        """Make it visible.

        Raises Unavailable (try later), Refused or Invalid (never).
        """
