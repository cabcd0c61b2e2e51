"""An entry: one more way into the hostile world and out of it, with moves and laws of its own."""

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from opencrab.domain.turn.turn import Turn
from opencrab.engine.runtime import Runtime
from opencrab.ports.models.model import ChatRequest
from opencrab.ports.turn.action import Action, ActionContext
from opencrab.ports.turn.journal import AdmittedMessage

if TYPE_CHECKING:
    from tests.hostile.world import World

Move = Callable[["World"], None]


class Entry:
    """What is there beside people, time and workers; this one adds nothing.

    `secrets` must never be told to a model or to anybody else; `groups` are sessions that others
    read.
    """

    name = "none"
    secrets: tuple[str, ...] = ()
    groups: Collection[str] = ()

    def furnish(self, world: "World") -> None:
        """Prepare the world before its runtime is made."""

    def install(self, runtime: Runtime) -> Runtime:
        """Return the runtime with what the entry needs."""
        return runtime

    def moves(self) -> Mapping[str, tuple[int, Move]]:
        """Return what may happen here, and how often it does."""
        return {}

    def opened(self) -> None:
        """Do what needs the finished runtime, before the first move."""

    def restarted(self) -> None:
        """A new process takes over, which remembers nothing."""

    def closed(self) -> None:
        """The world ends."""

    def admitted(self, admission: AdmittedMessage) -> None:
        """Judge a message that was admitted."""

    def claimed(self, turn: Turn) -> None:
        """Note that a worker takes up a turn."""

    def sees(self, turn: Turn, request: ChatRequest, text: str) -> None:
        """Judge what a model is sent; `text` is all of it but the schemas."""

    def impact_of(self, name: str) -> str | None:
        """Return the impact of one of its actions; None for all others."""
        return None

    def acts(self, action: Action, context: ActionContext) -> None:
        """Judge an action in the moment in which it begins to run."""

    def problems_at_rest(self) -> list[str]:
        """Return what is wrong when nothing moves any more."""
        return []

    def calls(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """Return names and argument schemas that a model may call here."""
        return ()
