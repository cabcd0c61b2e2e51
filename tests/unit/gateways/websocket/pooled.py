"""Executors whose tasks run at once, or when a test says so."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class Inline(Executor):
    """Runs each task while it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **named: Any) -> "Future[Any]":
        future = Future[Any]()
        run(future, fn, *args, **named)
        return future


class Waiting(Executor):
    """Keeps tasks until a test runs them, in any order."""

    def __init__(self) -> None:
        self.tasks: list[Callable[[], None]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **named: Any) -> "Future[Any]":
        future = Future[Any]()
        self.tasks.append(lambda: run(future, fn, *args, **named))
        return future

    def step(self, which: int = 0) -> None:
        """Run one task, if there is any."""
        if self.tasks:
            self.tasks.pop(which % len(self.tasks))()


def run(future: "Future[Any]", fn: Callable[..., Any], *args: Any, **named: Any) -> None:
    """Run a task as a pool does: what it raises is in its future."""
    try:
        future.set_result(fn(*args, **named))
    except Exception as error:  # noqa: BLE001 - as a pool does
        future.set_exception(error)
