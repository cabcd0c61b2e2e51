"""Time, ids and chance, asked for and never taken."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The only source of the present time, of new ids and of randomness."""

    def now(self) -> datetime:
        """Return the current time, in UTC with time zone."""

    def new_id(self) -> str:
        """Make a new sortable id of 26 characters."""

    def secret(self) -> str:
        """Generate a random text for a key: at least 256 bits, letters and digits."""

    def monotonic_ms(self) -> float:
        """Return milliseconds of a clock that never goes back, for durations only."""
