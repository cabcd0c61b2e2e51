"""A process that may be killed at any call of a port, or in whose midst something else happens."""

from collections.abc import Callable
from typing import Any

from tests.hostile.watch import Killed


class Fuse:
    """Burns with each call of a port; at its end the process is killed, or `act` happens."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.act: Callable[[], object] | None = None
        self.within = False
        """Whether it happens within the next action that has an effect, instead of by calls."""

    def reached(self) -> None:
        """An action that has an effect runs."""
        act, self.act = (self.act, None) if self.within else (None, self.act)
        if act is not None:
            act()

    def burn(self) -> None:
        """One more point in time has passed."""
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                act, self.left, self.act = self.act, None, None
                if act is None:
                    raise Killed
                act()


class Fragile:
    """A port before and after whose calls the process may be killed."""

    def __init__(self, target: Any, fuse: Fuse) -> None:
        self._target, self._fuse = target, fuse

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._target, name)
        if not callable(inner):
            return inner

        def call(*arguments: Any, **named: Any) -> Any:
            self._fuse.burn()
            answer = inner(*arguments, **named)
            self._fuse.burn()
            return answer

        return call
