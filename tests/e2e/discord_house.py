"""A house beside a Discord of our own: people ask there, and the real handlers answer.

Between any two calls of a port, of Discord's API or of the door something may happen: these are
points, counted as they are passed. What dies there is followed by a new process, which knows only
what was stored.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

import httpx

from opencrab.adapters.discord.channel import DiscordChannel
from opencrab.adapters.discord.client import DiscordClient
from opencrab.adapters.discord.preview import DiscordPreviews
from opencrab.adapters.providers.transport.httpx_transport import new_client
from opencrab.bootstrap.discord.door import build_discord_door
from opencrab.domain.conversation.message import DeliveryState, Utterance
from opencrab.domain.discord.community import Community
from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.domain.value import Language
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.conversation.delivery import deliver_session_utterance
from opencrab.engine.discord.ambient_messages import AmbientOutcome, answer_ambient_discord_message
from opencrab.engine.runtime import Rules
from opencrab.gateways.discord.commands import COMMANDS
from opencrab.gateways.discord.interactions import worker
from opencrab.ports.conversation.channel import DeliveryChannel
from opencrab.ports.discord import Discord, FileSource
from opencrab.ports.home import Home
from opencrab.ports.models.model import ChatModel
from opencrab.ports.turn.queue import Delivery, MessageOutcome, Queue
from tests.contract.homes import OpenHome
from tests.crash.errand import RICH
from tests.crash.outside import Reply, Script
from tests.crash.scheduling import Killed
from tests.discord.cdn import Cdn, relayed
from tests.discord.fake import OWNER, SERVER_CHANNEL, FakeDiscord
from tests.discord.state import Interaction, Message, Person, Place
from tests.e2e.house import House
from tests.unit.adapters.discord.speaking import run_at_once

USER = Person("1100000000000000007", "Yui")
OPENERS = Community(owner_ids=(OWNER.id,), user_ids=(USER.id,))

_WITHIN = frozenset({"info", "encode"})
"""What of a model stays in the process."""

_PATIENCE = (1, 10, 60, 120, 240, 400, 2_000)
_VISIBLE_AGAIN = {"interactions": 360, "turns": 1_800, "deliveries": 540}
"""Seconds, as the template says."""


@dataclass
class Trouble:
    """What happens at which point; `seen` are the points that there were."""

    at: dict[int, Callable[[str], None]] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    after: bool = False
    """Whether it happens after the call at the point instead of before it."""


class Pointed:
    """A port whose calls are points."""

    def __init__(self, target: Any, port: str, house: "DiscordHouse") -> None:
        self._target, self._port, self._house = target, port, house

    def __getattr__(self, method: str) -> Any:
        inner = getattr(self._target, method)
        if method in _WITHIN or not callable(inner):
            return inner

        def call(*arguments: Any, **named: Any) -> Any:
            self._house.note(f"{self._port}.{method}", arguments)
            return self._house.passed(f"{self._port}.{method}", lambda: inner(*arguments, **named))

        return call


class OneToken:
    """The token of the installation's own bot."""

    def __init__(self, token: str) -> None:
        self._token = token

    def token(self, secret: str | None) -> str:
        """There is only one."""
        return self._token

    def forget(self) -> None:
        """It never changes."""


class DiscordHouse(House):
    """A house with an owner, a user and strangers on Discord."""

    def __init__(self, opens: OpenHome, folder: Path, rules: Rules = RICH) -> None:
        super().__init__(opens, folder, rules)
        self.trouble = Trouble()
        self.handed: list[tuple[str, Delivery]] = []
        self.marked: dict[tuple[str, str], None] = {}
        self.problems: list[str] = []
        self.spoil: Callable[[DeliveryChannel], DeliveryChannel] = lambda channel: channel
        self.discord = self._open.enter_context(FakeDiscord(self.clock, self._at_the_door))
        self.cdn = Cdn()
        self._bare = self.runtime
        self.provider.wrap = lambda model: cast(ChatModel, Pointed(model, "model", self))
        self.provider.between_words = lambda: self.clock.advance(1)
        self.begin()
        assert self.runtime.discord is not None
        path = f"/applications/{self.discord.application_id}/commands"
        self.runtime.discord.ask("PUT", path, list(COMMANDS))

    def begin(self) -> None:
        """A new process; what an earlier one knew is forgotten."""
        ports: dict[str, Any] = {
            name: Pointed(getattr(self._bare.home, name), name, self)
            for name in Home.__dataclass_fields__
        }
        home = replace(self._bare.home, **ports)
        token = OneToken(self.discord.token)
        client = DiscordClient(self._connect, self.discord.url, token, self.clock, self.wait)
        api = cast(Discord, Pointed(client, "discord", self))
        channel = self.spoil(DiscordChannel(api, home.facts, self.clock))
        previews = DiscordPreviews(api, home.facts, self.clock, run_at_once)
        self.runtime = replace(
            self._bare,
            home=home,
            channels={**self._bare.channels, "discord": channel},
            previews={"discord": previews},
            discord=api,
            discord_files=cast(FileSource, Pointed(self.cdn.source, "files", self)),
            community=OPENERS,
        )
        self.door = build_discord_door(self.runtime, self.discord.public_key, self.discord.url)

    def wait(self, seconds: float) -> None:
        """What a client does that must wait for a limit."""
        self.clock.advance(seconds)

    def _connect(self) -> httpx.BaseTransport:
        return self._open.enter_context(closing(new_client()))

    def passed(self, point: str, call: Callable[[], Any]) -> Any:
        """One point: whatever is to happen there happens, and the call."""
        trouble = self.trouble
        trouble.seen.append(point)
        happens = trouble.at.pop(len(trouble.seen), None)
        if happens is not None and not trouble.after:
            happens(point)
        answer = call()
        if happens is not None and trouble.after:
            happens(point)
        return answer

    def hear(self, message: Message, place: Place = SERVER_CHANNEL) -> AmbientOutcome:
        """Take a channel's message from the relay."""
        said = relayed(message, place, self.discord.application_id)
        own = frozenset({self.discord.application_id})
        return answer_ambient_discord_message(self.runtime, said, own_ids=own)

    def work(self) -> None:
        """Handle all messages of all queues that are visible now."""
        while self._handled():
            pass

    def rest(self) -> None:
        """Let everything happen until nothing is left to do."""
        for _ in range(60):
            for seconds in _PATIENCE:
                before = len(self.trouble.seen)
                self.clock.advance(seconds)
                with suppress(Killed, Unavailable):
                    run_autonomy_sweep(self.runtime)
                swept = len(self.trouble.seen) - before
                self.work()
                if len(self.trouble.seen) - before > swept + len(self._queues):
                    break
            else:
                return
        self.problems.append("no rest")

    @property
    def _queues(self) -> tuple[tuple[str, Queue], ...]:
        home = self.runtime.home
        assert home.interactions is not None
        return (
            ("interactions", home.interactions),
            ("turns", home.turns),
            ("deliveries", home.deliveries),
        )

    def handle(self, name: str, delivery: Delivery) -> MessageOutcome:
        """What the function behind a queue does with one message."""
        match name:
            case "interactions":
                return worker.handle_interaction(self.runtime, delivery)
            case "turns":
                return self._turn(delivery)
        return deliver_session_utterance(self.runtime, delivery)

    def overlap(self) -> None:
        """Another worker has the newest message in its hands as well."""
        if self.handed:
            with suppress(Unavailable):
                self.handle(*self.handed[-1])

    def again(self) -> None:
        """All messages come once more, the newest first."""
        for name, delivery in reversed(self.handed.copy()):
            with suppress(Unavailable):
                self.handle(name, delivery)

    def _handled(self) -> bool:
        """One message, if there is one; a process that dies is followed by another."""
        for name, queue in self._queues:
            try:
                if self._take(name, queue):
                    return True
            except Killed:
                self.begin()
                return True
            except Unavailable:
                return True
            except OpenCrabError as error:
                self.problems.append(f"a worker raised {error!r}")
                return True
        return False

    def _take(self, name: str, queue: Queue) -> bool:
        seconds = _VISIBLE_AGAIN[name]
        delivery = queue.receive(visibility_seconds=seconds, wait_seconds=0)
        if delivery is None:
            return False
        self.handed.append((name, delivery))
        try:
            outcome = self.handle(name, delivery)
        except Unavailable:
            queue.continue_later(delivery.receipt, 2)
            return True
        if outcome is MessageOutcome.FINISHED:
            queue.acknowledge(delivery.receipt)
        return True

    def _at_the_door(
        self, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        try:
            made = self.door(headers, body, self.clock.now().timestamp())
        except Killed:
            self.begin()
            return 500, {}, b""
        return made.status, {}, made.content

    def seen(self, place: Place, to: Person | None = None) -> list[str]:
        """The texts that somebody sees in a channel."""
        return [each.content for each in self.discord.shown(place, to)]

    def message(self, place: Place, to: Person | None = None) -> Message:
        """The newest message that somebody sees."""
        return self.discord.shown(place, to)[-1]

    def utterances(self) -> list[Utterance]:
        """All speech that was ever on its way."""
        outbox = self.home.outbox
        left = outbox.list_unsent(self.clock.now() + timedelta(days=1), 100)
        keys = {**dict.fromkeys((each.channel.target, each.key) for each in left), **self.marked}
        return [outbox.get(*key) for key in keys]

    def states(self) -> list[DeliveryState]:
        """How far all speech has come."""
        return [each.state for each in self.utterances()]

    def note(self, point: str, arguments: tuple[Any, ...]) -> None:
        """Remember what speech there is."""
        if point == "outbox.mark":
            utterance: Utterance = arguments[0]
            self.marked[utterance.channel.target, utterance.key] = None


AnyHouse = TypeVar("AnyHouse", bound=DiscordHouse)


def opened(opens: OpenHome, folder: Path) -> Iterator[DiscordHouse]:
    """A house, and what nobody may hold against it at the end."""
    yield from opened_as(DiscordHouse, opens, folder)


def opened_as(kind: type[AnyHouse], opens: OpenHome, folder: Path) -> Iterator[AnyHouse]:
    """A house of a test's own kind, and what nobody may hold against it at the end."""
    house = kind(opens, folder)
    try:
        yield house
    finally:
        house.close()
    assert house.discord.complaints == []
    assert house.problems == []


def kani(house: DiscordHouse, *replies: Reply, **changes: Any) -> None:
    """An agent that answers so."""
    script: Script = replies or (Reply(text="やあ"),)
    agent = house.agent("kani", script, Language.JA)
    if changes:
        house.home.agents.save(agent.replaced(**changes))


def ask(
    house: DiscordHouse,
    text: str = "元気?",
    *,
    by: Person = OWNER,
    place: Place = SERVER_CHANNEL,
    locale: str = "ja",
) -> Interaction:
    """Somebody asks; nothing is done with it yet."""
    options = {"agent": "kani", "text": text}
    return house.discord.command("ask", options, by=by, place=place, locale=locale)
