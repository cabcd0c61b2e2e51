"""The door for signed requests in one's own process, which loads with the first of them."""

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

from opencrab.domain.errors import Invalid
from opencrab.gateways.door.door import READERS, WEBHOOK, SignedRequestDoor
from opencrab.gateways.door.request import SignedRequest

if TYPE_CHECKING:
    from opencrab.engine.runtime import Runtime
    from opencrab.gateways.rest.webhooks.door import AnswersRequests
    from opencrab.settings import Settings


class _OwnLookup:
    """What the door may ask of the installation, in its own process."""

    def __init__(self, runtime: "Runtime", secret: Callable[[str], str | None]) -> None:
        self._runtime = runtime
        self._secret = secret

    def document(self, owner: str, kind: str, fact_id: str) -> Any:
        known = self._runtime.home.facts.get(owner, kind, fact_id)
        return None if known is None else known.body

    def secret(self, name: str) -> str:
        return self._secret(name) or ""

    def new_id(self) -> str:
        return self._runtime.clock.new_id()


def build_channel_door(
    runtime: "Runtime",
    kinds: Container[str],
    secret: Callable[[str], str | None],
    wake: Callable[[], None],
) -> SignedRequestDoor:
    """Build the door in this process; `wake` is called when something was queued.

    Raises Invalid without a queue.
    """
    queue = runtime.home.interactions
    if queue is None:
        raise Invalid(
            "this installation has no queue for received events",
            cure="deploy with the stack's parameter Channels",
        )

    def send(body: str, *, group: str, deduplication: str) -> None:
        queue.send(body, group=group, deduplication=deduplication)
        wake()

    return SignedRequestDoor(kinds, _OwnLookup(runtime, secret), send)


def own_channel_door(
    configured: "Settings",
    runtime: "Runtime",
    load: "Callable[..., Settings]",
    wake: Callable[[], None],
) -> "AnswersRequests":
    """Return what answers signed requests in this process, of the kinds that are switched on."""
    secrets = runtime.secrets

    def secret(name: str) -> str:
        """Return what `gateway.KIND.NAME` has, for a name such as LINE_CHANNEL_SECRET."""
        kind, _, key = name.lower().partition("_")
        now = load({}, secret=None if secrets is None else secrets.get)
        return str(now.get(f"gateway.{kind}.{key}"))

    kinds = frozenset(kind for kind in READERS if _is_on(configured, kind))
    door = build_channel_door(runtime, kinds, secret, wake)
    return lambda *request: door.answer(SignedRequest(*request))


def _is_on(configured: "Settings", kind: str) -> bool:
    """Check whether requests of a kind are taken; webhooks are there once one was added."""
    return kind == WEBHOOK or bool(configured.get(f"gateway.{kind}.enabled"))
