"""The switches that freeze an agent or the whole installation."""

from typing import Protocol


class Switches(Protocol):
    """Freeze switches by scope: an agent's id, or `installation`."""

    def set(self, scope: str, *, frozen: bool) -> None:
        """Set a switch."""

    def is_frozen(self, scope: str) -> bool:
        """Check whether a scope is frozen, strongly consistent; an unset switch is not."""

    def all_frozen(self) -> tuple[str, ...]:
        """Return all frozen scopes, sorted, strongly consistent."""
