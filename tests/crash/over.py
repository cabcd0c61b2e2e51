"""How a seeded bug gets between two parts of the system: as a wrapper around one port."""

from dataclasses import replace
from typing import Any

from opencrab.engine.runtime import Runtime
from opencrab.ports.home import Home
from tests.crash.world import Mutation, World


class Over:
    """Everything as the wrapped port does it, but for what a subclass does worse."""

    def __init__(self, inner: Any, world: World, runtime: Runtime | None = None) -> None:
        self.inner = inner
        self.world = world
        self.runtime = runtime

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class BadAdapter(Mutation):
    """A bug in an adapter: `over` takes the place of one port, below the I/O points."""

    port = "journal"
    over: type[Over]

    def below(self, home: Home, world: World) -> Home:
        ports: dict[str, Any] = {self.port: self.over(getattr(home, self.port), world)}
        return replace(home, **ports)


class BadEngine(Mutation):
    """A bug in the engine: `over` sits between it and one port, above the I/O points."""

    port = "journal"
    over: type[Over]

    def above(self, runtime: Runtime, world: World) -> Runtime:
        inner = getattr(runtime.home, self.port)
        ports: dict[str, Any] = {self.port: self.over(inner, world, runtime)}
        return replace(runtime, home=replace(runtime.home, **ports))
