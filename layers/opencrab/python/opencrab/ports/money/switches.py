"""The switches that freeze an agent or the whole installation."""

from typing import Protocol


class Switches(Protocol):
    """`running` or `frozen`, per scope: an agent's id, or `installation`."""

    def set(self, scope: str, *, frozen: bool) -> None:
        """Turn a switch."""

    def frozen(self, scope: str) -> bool:
        """Read a switch, strongly consistent; an unset one runs."""

    def all_frozen(self) -> tuple[str, ...]:
        """Every scope that is frozen, sorted, strongly consistent."""
