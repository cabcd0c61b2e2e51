"""Seeded bugs of the other ports: sweep, due items, files, actions and channels."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from opencrab.domain.conversation.message import DeliveryState, Utterance
from opencrab.domain.errors import NeverSent, Unavailable
from opencrab.domain.turn.action import Effect
from opencrab.domain.turn.turn import Turn
from opencrab.engine.runtime import Runtime
from opencrab.ports.conversation.channel import DeliveryChannel
from opencrab.ports.turn.action import Action, Actions
from opencrab.ports.workspace.files import FileInfo
from tests.crash.over import BadAdapter, BadEngine, Over
from tests.crash.world import Mutation, World


class SweepBlind(BadAdapter):
    """The sweep never finds a turn whose message was lost."""

    name = "stale headers not swept"
    scenarios = ("approved",)
    caught_by = "random:approved/34"

    class over(Over):  # noqa: N801 - stands for an attribute
        def list_overdue(self, *_arguments: object, **_named: object) -> tuple[Turn, ...]:
            return ()


class SweepImpatient(BadEngine):
    """The sweep frees turns whose lease has not lapsed."""

    name = "live turns swept"
    scenarios = ("write", "long")
    caught_by = "random:write/14"

    class over(Over):  # noqa: N801
        def list_overdue(self, now: Any, limit: int, **named: Any) -> tuple[Turn, ...]:
            later = now.replace(year=now.year + 1)
            return cast(tuple[Turn, ...], self.inner.list_overdue(later, limit, **named))


class DueForgotten(BadEngine):
    """A due item is forgotten before it is admitted."""

    name = "due item forgotten first"
    port = "due"
    scenarios = ("due",)
    caught_by = "random:due/5"

    class over(Over):  # noqa: N801
        def list_due(self, *arguments: Any) -> Any:
            items = self.inner.list_due(*arguments)
            for item in items:
                self.inner.remove(item.id)
            return items


class WriteUnconditional(BadAdapter):
    """A file is written whatever it is now."""

    name = "file condition dropped"
    port = "files"
    scenarios = ("write", "long")
    caught_by = "random:write/2"

    class over(Over):  # noqa: N801
        def write(self, agent_id: str, path: str, content: bytes, **_condition: Any) -> FileInfo:
            return cast(FileInfo, self.inner.write(agent_id, path, content))


class OnceAgain(Mutation):
    """A `once` action runs again after a crash."""

    name = "once action repeated"
    scenarios = ("long",)
    caught_by = "random:long/17"

    class actions(Over):  # noqa: N801
        def find(self, name: str) -> Action | None:
            action: Action | None = self.inner.find(name)
            if action is not None and action.effect is Effect.ONCE:
                return replace(action, effect=Effect.KEYED, prepare=lambda *_: {})
            return action

    def above(self, runtime: Runtime, world: World) -> Runtime:
        return replace(runtime, actions=cast(Actions, self.actions(runtime.actions, world)))


class _Channels(Mutation):
    over: type[Over]

    def channels(self, runtime: Runtime, world: World) -> Mapping[str, DeliveryChannel]:
        """Every channel with something wrong in front of it."""
        return {
            kind: cast(DeliveryChannel, self.over(channel, world, runtime))
            for kind, channel in runtime.channels.items()
        }

    def above(self, runtime: Runtime, world: World) -> Runtime:
        return replace(runtime, channels=self.channels(runtime, world))


class NonceLost(_Channels):
    """An utterance is sent without the nonce that lets a channel recognise it."""

    name = "delivered without nonce"
    scenarios = ("pushed",)

    class over(Over):  # noqa: N801
        def send(self, utterance: Utterance) -> None:
            nonce = f"{utterance.nonce}-{self.world.scheduler.points}"
            self.inner.send(utterance.replaced(nonce=nonce))


class DoubtfulSendRepeated(_Channels):
    """A send that may have been seen is taken for one that was not, and repeated."""

    name = "doubtful send repeated"
    scenarios = ("plain",)

    class over(Over):  # noqa: N801
        def send(self, utterance: Utterance) -> None:
            try:
                self.inner.send(utterance)
            except Unavailable as error:
                raise NeverSent(error.message) from error


class SentBeforeMarked(_Channels):
    """The channel is called before `sending` is stored."""

    name = "sent before marked"
    scenarios = ("plain",)

    class over(Over):  # noqa: N801
        def send(self, utterance: Utterance) -> None:
            self.inner.send(utterance)
            if self.runtime is not None:
                self.runtime.home.outbox.mark(utterance, DeliveryState.QUEUED)

    class outbox(Over):  # noqa: N801
        def mark(self, utterance: Utterance, expected: DeliveryState) -> bool:
            if utterance.state is DeliveryState.SENDING:
                return True
            return bool(self.inner.mark(utterance, expected))

    def above(self, runtime: Runtime, world: World) -> Runtime:
        outbox: Any = self.outbox(runtime.home.outbox, world)
        channels = self.channels(runtime, world)
        return replace(runtime, channels=channels, home=replace(runtime.home, outbox=outbox))
