"""Delivery shows each piece once, and says so where nobody can know."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from opencrab.domain.conversation.message import ATTEMPTS, Channel, DeliveryState, Utterance
from opencrab.domain.errors import Invalid, NeverSent, NotFound, OpenCrabError, Refused, Unavailable
from opencrab.engine.conversation.delivery import deliver_session_utterance
from opencrab.ports.conversation.channel import Panel
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.unit.engine.known_world import World

PLACE = Channel(kind="page", address="1")


class Died(BaseException):
    """The worker's process ended."""


@dataclass
class Page:
    """A channel on which each word is a piece; `trouble` comes before a piece, `lost` after it."""

    repeats: bool = True
    trouble: list[BaseException | None] = field(default_factory=list)
    lost: list[BaseException | None] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)

    def piece_count(self, utterance: Utterance) -> int:
        return len(utterance.text.split())

    def is_idempotent(self, utterance: Utterance) -> bool:
        return self.repeats

    def send(self, utterance: Utterance) -> None:
        if self.trouble and (error := self.trouble.pop(0)):
            raise error
        self.sent.append(utterance.text.split()[utterance.piece])
        if self.lost and (error := self.lost.pop(0)):
            raise error

    def show(self, place: Channel, panel: Panel) -> None:
        raise AssertionError("nobody gave an instruction")


@dataclass
class Told:
    """One speech on its way to a page, and how far it has come."""

    world: World
    page: Page
    utterance: Utterance
    marks: list[DeliveryState] = field(default_factory=list)

    def deliver(self) -> MessageOutcome:
        """One worker takes the message, if it is visible."""
        queue = self.world.runtime.home.deliveries
        delivery = queue.receive(visibility_seconds=60, wait_seconds=0)
        assert delivery is not None
        outcome = deliver_session_utterance(self.world.runtime, delivery)
        if outcome is MessageOutcome.FINISHED:
            queue.acknowledge(delivery.receipt)
        return outcome

    def until_the_end(self) -> None:
        """Deliver it as often as it comes back."""
        while self.deliver() is MessageOutcome.CONTINUE:
            self.world.clock.advance(600)

    def die(self) -> None:
        """A worker takes the message and dies; later it is visible again."""
        with pytest.raises(Died):
            self.deliver()
        self.world.clock.advance(61)

    @property
    def now(self) -> Utterance:
        """The utterance as it is stored."""
        return self.world.runtime.home.outbox.get(PLACE.target, self.utterance.key)

    @property
    def state(self) -> DeliveryState:
        """How far it has come."""
        return self.now.state


class Counting:
    """An outbox whose writes are counted."""

    def __init__(self, inner: Any, marks: list[DeliveryState]) -> None:
        self._inner = inner
        self._marks = marks

    def get(self, target: str, key: str) -> Utterance:
        found: Utterance = self._inner.get(target, key)
        return found

    def mark(self, utterance: Utterance, expected: DeliveryState) -> bool:
        self._marks.append(utterance.state)
        return bool(self._inner.mark(utterance, expected))


Tell = Callable[..., Told]


@pytest.fixture
def tell(world: World) -> Tell:
    """Let the agent say something on a page."""

    def told(text: str, page: Page) -> Told:
        work = world.begun(channel=PLACE)
        (utterance,) = work.utterance(text, 0)
        marks: list[DeliveryState] = []
        outbox: Any = Counting(world.runtime.home.outbox, marks)
        home = replace(world.runtime.home, outbox=outbox)
        world.runtime = replace(world.runtime, home=home, channels={"page": page})
        work.save(work.turn, utterances=(utterance,))
        return Told(world, page, utterance, marks)

    return told


def test_one_piece_is_one_call_and_two_writes(tell: Tell) -> None:
    told = tell("やあ", Page())
    assert told.deliver() is MessageOutcome.FINISHED
    assert told.page.sent == ["やあ"]
    assert told.marks == [DeliveryState.SENDING, DeliveryState.SENT]


def test_several_pieces_are_sent_in_order(tell: Tell) -> None:
    told = tell("one two three", Page())
    told.deliver()
    assert told.page.sent == ["one", "two", "three"]
    assert (told.state, told.now.piece) == (DeliveryState.SENT, 2)
    assert len(told.marks) == 4


def test_what_was_delivered_is_not_delivered_again(tell: Tell) -> None:
    told = tell("one two", Page())
    told.deliver()
    again = Delivery(f"{PLACE.target}\n{told.utterance.key}", "g", "r", 1)
    assert deliver_session_utterance(told.world.runtime, again) is MessageOutcome.FINISHED
    assert told.page.sent == ["one", "two"]


def test_a_message_about_nothing_is_done(world: World) -> None:
    assert (
        deliver_session_utterance(world.runtime, Delivery("page:1\nt#0000", "g", "r", 1))
        is MessageOutcome.FINISHED
    )


def test_speech_for_a_channel_that_is_not_there_has_failed(tell: Tell) -> None:
    told = tell("やあ", Page())
    told.world.runtime = replace(told.world.runtime, channels={})
    told.deliver()
    assert (told.state, told.now.error) == (DeliveryState.FAILED, "no channel of kind 'page'")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_after_a_death_only_the_piece_on_its_way_is_repeated(tell: Tell, place: int) -> None:
    page = Page(lost=[*[None] * place, Died()])
    told = tell("one two three", page)
    told.die()
    assert not told.state.is_end
    told.deliver()
    words = ["one", "two", "three"]
    assert page.sent == [*words[: place + 1], *words[place:]]
    assert told.state is DeliveryState.SENT


def test_after_a_death_nobody_knows_whether_an_unrepeatable_piece_was_seen(tell: Tell) -> None:
    page = Page(repeats=False, lost=[None, Died()])
    told = tell("one two three", page)
    told.die()
    told.deliver()
    assert page.sent == ["one", "two"]
    assert (told.state, told.now.piece) == (DeliveryState.INDETERMINATE, 1)
    assert "died" in told.now.error


def test_what_certainly_was_not_shown_is_tried_again(tell: Tell) -> None:
    page = Page(repeats=False, trouble=[None, NeverSent("no line"), NeverSent("no line")])
    told = tell("one two", page)
    told.deliver()
    assert (told.state, told.now.since) == (DeliveryState.QUEUED, None)
    assert told.now.error == "no line"
    told.world.clock.advance(600)
    told.until_the_end()
    assert page.sent == ["one", "two"]
    assert told.state is DeliveryState.SENT


def test_what_may_have_been_shown_is_repeated_where_that_shows_it_once(tell: Tell) -> None:
    page = Page(lost=[Unavailable("no answer")])
    told = tell("one two", page)
    told.until_the_end()
    assert page.sent == ["one", "one", "two"]
    assert told.state is DeliveryState.SENT


def test_what_may_have_been_shown_is_not_repeated_elsewhere(tell: Tell) -> None:
    told = tell("one two", Page(repeats=False, lost=[Unavailable("no answer")]))
    told.until_the_end()
    assert told.page.sent == ["one"]
    assert (told.state, told.now.error) == (DeliveryState.INDETERMINATE, "no answer")


@pytest.mark.parametrize("between", [(), (NeverSent("no line"),)], ids=["at once", "later"])
def test_what_can_be_repeated_no_more_when_its_time_comes_stays_unknown(
    tell: Tell, between: tuple[OpenCrabError, ...]
) -> None:
    """Channels know a nonce for some minutes only."""
    page = Page(trouble=[None, *between], lost=[Unavailable("no answer")])
    told = tell("one", page)
    for _ in range(1 + len(between)):
        assert told.deliver() is MessageOutcome.CONTINUE
        told.world.clock.advance(600)
    page.repeats = False
    told.deliver()
    assert page.sent == ["one"]
    assert told.state is DeliveryState.INDETERMINATE
    assert told.now.error


def test_the_time_since_a_piece_may_be_seen_is_that_of_its_first_try(tell: Tell) -> None:
    page = Page(lost=[None, Unavailable("no answer"), Unavailable("no answer")])
    told = tell("one two", page)
    told.world.clock.advance(5)
    first = told.world.clock.now()
    for _ in range(2):
        told.deliver()
        assert told.now.since == first
        told.world.clock.advance(600)


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (NeverSent("no line"), DeliveryState.FAILED),
        (Unavailable("no answer"), DeliveryState.INDETERMINATE),
    ],
)
def test_after_many_tries_it_ends_as_what_is_known(
    tell: Tell, error: Unavailable, state: DeliveryState
) -> None:
    page = Page(trouble=[error] * 20)
    told = tell("one", page)
    told.until_the_end()
    assert told.state is state
    assert len(page.trouble) == 20 - ATTEMPTS


@pytest.mark.parametrize("kind", [Refused, NotFound, Invalid])
def test_what_can_never_be_shown_ends_with_the_reason(
    tell: Tell, kind: type[OpenCrabError]
) -> None:
    told = tell("one two", Page(trouble=[None, kind("not here" * 200)]))
    assert told.deliver() is MessageOutcome.FINISHED
    assert (told.state, told.now.piece) == (DeliveryState.FAILED, 1)
    assert told.now.error == ("not here" * 200)[:500]


def test_each_piece_is_tried_anew_as_often(tell: Tell) -> None:
    troubles = [NeverSent("no line")] * (ATTEMPTS - 1)
    told = tell("one two", Page(trouble=[*troubles, None, *troubles]))
    told.until_the_end()
    assert told.state is DeliveryState.SENT


@pytest.mark.parametrize("text", ["やあ", "Hello"])
def test_of_two_workers_with_the_same_message_one_speaks(tell: Tell, text: str) -> None:
    told = tell(text, Page(repeats=False))
    queue = told.world.runtime.home.deliveries
    delivery = queue.receive(visibility_seconds=60, wait_seconds=0)
    assert delivery is not None
    outbox = told.world.runtime.home.outbox
    before = outbox.get(PLACE.target, told.utterance.key)
    assert deliver_session_utterance(told.world.runtime, delivery) is MessageOutcome.FINISHED

    class Late(Counting):
        """What the other worker had read before this one was done."""

        def get(self, target: str, key: str) -> Utterance:
            return before

    late: Any = Late(outbox, told.marks)
    runtime = replace(told.world.runtime, home=replace(told.world.runtime.home, outbox=late))
    assert deliver_session_utterance(runtime, delivery) is MessageOutcome.FINISHED
    assert told.page.sent == [text]
    assert told.state is DeliveryState.SENT
