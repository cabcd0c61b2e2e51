"""A process that dies just after it has written something, and one that goes on in its place."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.e2e.house import House


class ProcessDied(BaseException):
    """The process ends, just after it has written something."""


class Mortal:
    """A store in whose nth call of a method the process dies, after the call was made."""

    def __init__(self, store: Any, method: str, dies_in: int) -> None:
        self._store, self._method, self._left = store, method, dies_in

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._store, name)
        if name != self._method:
            return inner

        def call(*arguments: Any, **named: Any) -> Any:
            made = inner(*arguments, **named)
            self._left -= 1
            if self._left == 0:
                raise ProcessDied
            return made

        return call


def die_after(
    house: House, port: str, method: str, dies_in: int
) -> Callable[[Callable[[], object]], bool]:
    """Let the house's process die in the nth call of a port's method.

    Returns what does something with that process: if it dies of it, another one goes on 400 seconds
    later, and it is true.
    """
    safe = house.runtime.home
    mortal: Any = Mortal(getattr(safe, port), method, dies_in)
    house.runtime = replace(house.runtime, home=replace(safe, **{port: mortal}))

    def live(act: Callable[[], object]) -> bool:
        try:
            act()
        except ProcessDied:
            house.runtime = replace(house.runtime, home=safe)
            house.later(400)
            return True
        return False

    return live
