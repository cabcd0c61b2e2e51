"""Time, ids and chance, asked for and never taken."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The only source of now, of new ids and of randomness."""

    def now(self) -> datetime:
        """The current time, in UTC with time zone."""

    def new_id(self) -> str:
        """A new sortable id of 26 characters."""

    def secret(self) -> str:
        """Fresh randomness fit for a key: at least 256 bits, letters and digits."""

    def monotonic_ms(self) -> float:
        """Milliseconds on a clock that never goes back, for durations only."""
