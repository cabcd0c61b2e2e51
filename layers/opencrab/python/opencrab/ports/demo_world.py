"""The demo world as its command sees it, which runs it in its own process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol


class DemoWorldProcess(Protocol):
    """The demo world, which runs in the process of its command."""

    @property
    def world_id(self) -> str: ...

    @property
    def public_key(self) -> str: ...

    def run(
        self,
        url: str,
        tell: Callable[[str, dict[str, Any]], None],
        *,
        hour_seconds: float,
        hours: int | None,
    ) -> None:
        """Live with the installation at an address until it is interrupted, or the hours end."""

    def accounts(self) -> list[dict[str, Any]]:
        """Return the accounts of all citizens, and of the treasury."""


class OpenDemoWorld(Protocol):
    """A function that opens the demo world of a folder, or makes a new one from a seed."""

    def __call__(self, folder: Path, seed: int, /) -> DemoWorldProcess: ...
