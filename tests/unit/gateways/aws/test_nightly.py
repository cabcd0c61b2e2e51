"""Lambda's side of the night: what waits is done one by one, what fails waits for an hour."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from opencrab.domain.errors import Invalid, NeverSent, OpenCrabError, Unavailable
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.run import Pace
from opencrab.gateways.aws.night_calls import MOST_SUCCESSORS, NightCalls, thread_timer
from opencrab.gateways.aws.nightly import VISIBILITY_SECONDS, NightWorker
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.contract.homes import sqlite
from tests.e2e.house import House
from tests.unit.gateways.function import Function, own_log

NOTHING = {"sent": 0, "reviews": 0, "prices": 0, "done": 0, "later": 0, "failed": 0}
SECRET = "秘密の計画"


class Unwaiting:
    """A queue at which nobody waits for what does not come."""

    def __init__(self, queue: Any) -> None:
        self._queue = queue
        self.down: dict[str, Exception] = {}
        """What fails once when it is called next, by its name."""

    def __getattr__(self, name: str) -> Any:
        if name in self.down:
            return partial(self._fail, name)
        return getattr(self._queue, name)

    def _fail(self, name: str, *_: object, **__: object) -> Any:
        raise self.down.pop(name)

    def receive(self, *, visibility_seconds: int, wait_seconds: float) -> Delivery | None:
        assert 0 < wait_seconds <= 1
        if "receive" in self.down:
            self._fail("receive")
        taken: Delivery | None = self._queue.receive(
            visibility_seconds=visibility_seconds, wait_seconds=0
        )
        return taken


class Clocked:
    """A timer that rings when the test says so."""

    def __init__(self, seconds: float, act: Callable[[], None]) -> None:
        self.seconds = seconds
        self._act = act
        self._waits = False

    def start(self) -> None:
        """Begin to wait."""
        self._waits = True

    def cancel(self) -> None:
        """Wait no more."""
        self._waits = False

    def ring(self) -> None:
        """Let its time come."""
        if self._waits:
            self._act()


class Night:
    """Nights of which some go wrong, what was asked of them, and Lambda's context."""

    def __init__(self, function: Function) -> None:
        self.function = function
        runtime = function.house.runtime
        self.queue = Unwaiting(runtime.home.nights)
        nights: Any = self.queue
        self.runtime = replace(runtime, home=replace(runtime.home, nights=nights))
        self.down: Exception | None = None
        self.names: list[str] = []
        self.reviewers: list[str] = []
        self.trouble: dict[str, Exception] = {}
        self.ran: list[str] = []
        self.prices: Callable[[Runtime], int] = lambda _: 7
        self.milliseconds = 290_000
        self.function_name = "opencrab-test-meta-analysis"
        self.called: list[int] = []
        self.refused: list[OpenCrabError | None] = []
        self.functions = 4
        self.pauses: list[float] = []
        self.timer = Clocked(0, lambda: None)
        self.counts: dict[str, int] = {}
        self.meanwhile: Callable[[], object] = lambda: None

    def run(self, number: int | None = None) -> dict[str, int]:
        """One call of the function; with a number one that another has called."""
        worker = NightWorker(
            self.runtime,
            self.function.lambda_log,
            fall=self._fall,
            review=self._review,
            run=self._run,
            price=self.prices,
            calls=NightCalls(self._call, self.functions, pause=self.pauses.append),
            set_timer=self._set_timer,
        )
        return worker.run_nightly({} if number is None else {"night": number}, self)

    def _call(self, name: str, event: Mapping[str, Any]) -> None:
        assert name == self.function_name
        if self.refused and (error := self.refused.pop(0)) is not None:
            raise error
        self.called.append(event["night"])

    def _set_timer(self, seconds: float, act: Callable[[], None]) -> Clocked:
        self.timer = Clocked(seconds, act)
        return self.timer

    def get_remaining_time_in_millis(self) -> int:
        """How long this call may still take."""
        return self.milliseconds

    def _fall(self, runtime: Runtime) -> int:
        if self.down is not None:
            raise self.down
        names, self.names = self.names, []
        return self._send(runtime, names)

    def _review(self, runtime: Runtime) -> int:
        names, self.reviewers = self.reviewers, []
        return self._send(runtime, names)

    def _send(self, runtime: Runtime, names: list[str]) -> int:
        for name in names:
            runtime.home.nights.send(name, group=name, deduplication=name)
        return len(names)

    def _run(self, _runtime: Runtime, delivery: Delivery, _pace: Pace) -> MessageOutcome:
        self.ran.append(delivery.body)
        self.counts[delivery.body] = delivery.count
        self.milliseconds -= 1
        self.meanwhile()
        if delivery.body in self.trouble:
            raise self.trouble[delivery.body]
        return MessageOutcome.CONTINUE if delivery.body == "put-off" else MessageOutcome.FINISHED


@pytest.fixture
def night(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Night]:
    with own_log():
        house = House(sqlite, tmp_path)
        yield Night(Function(house, capsys))
        house.close()


def test_an_hour_without_a_night_says_nothing_and_asks_for_no_prices(night: Night) -> None:
    night.prices = lambda _: pytest.fail("nobody thought, so nobody pays")
    assert night.run() == NOTHING
    assert night.function.log() == []


def test_what_is_sent_is_done_at_once_and_never_again(night: Night) -> None:
    night.names = ["hana", "ken", "mika"]
    assert night.run() == NOTHING | {"sent": 3, "prices": 7, "done": 3}
    assert sorted(night.ran) == ["hana", "ken", "mika"]
    (told,) = night.function.log()
    assert told["message"] == "nightly runs: sent=3, reviews=0, prices=7, done=3, later=0, failed=0"
    night.function.house.clock.advance(VISIBILITY_SECONDS + 1)
    assert night.run() == NOTHING


def test_reviews_are_done_in_their_hour_and_need_no_prices(night: Night) -> None:
    night.reviewers, night.prices = ["hana", "ken"], lambda _: pytest.fail("no night has come")
    assert night.run() == NOTHING | {"reviews": 2, "done": 2}
    assert sorted(night.ran) == ["hana", "ken"]


@pytest.mark.parametrize("error", [RuntimeError(SECRET), Unavailable("no table")], ids=str)
def test_a_night_that_fails_waits_for_the_next_hour_and_the_others_go_on(
    night: Night, error: Exception
) -> None:
    night.names, night.trouble = ["bad", "good", "put-off"], {"bad": error}
    assert night.run() == NOTHING | {"sent": 3, "prices": 7, "done": 1, "later": 1, "failed": 1}
    told = night.function.log()
    assert [each["NightFailures"] for each in told if "NightFailures" in each] == [[1.0]]
    assert SECRET not in str(told)
    assert night.run() == NOTHING, "a message that failed is not taken twice in an hour"
    night.function.house.clock.advance(VISIBILITY_SECONDS + 1)
    night.trouble.clear()
    assert night.run() == NOTHING | {"done": 1, "later": 1}


def test_without_prices_yesterdays_stay_and_nights_go_on(night: Night) -> None:
    def silent(_: Runtime) -> int:
        raise Unavailable("the price list cannot be fetched")

    def unsafe(_: Runtime) -> int:
        raise Invalid("prices_url must begin with https://")

    for name, prices in (("hana", silent), ("ken", unsafe)):
        night.names, night.prices = [name], prices
        assert night.run() == NOTHING | {"sent": 1, "done": 1}
        told = night.function.log()
        assert [each["PriceFailures"] for each in told if "PriceFailures" in each] == [[1.0]]


def test_no_night_is_begun_that_the_call_has_no_time_for(night: Night) -> None:
    night.names, night.milliseconds = ["hana", "ken", "mika"], 60_002
    told = night.run()
    assert (told["sent"], told["done"], night.called) == (3, 2, [1])
    night.milliseconds = 290_000
    assert night.run(1) == {"done": 1, "later": 0, "failed": 0}
    assert night.called == [1], "nothing is left"


def test_a_large_night_is_divided_among_functions(night: Night) -> None:
    night.names = [f"agent-{number}" for number in range(450)]
    assert night.run()["done"] == 450
    assert night.called == [1, 1]
    night.called.clear()
    night.reviewers, night.milliseconds = [f"agent-{number}" for number in range(200)], 290_000
    assert (night.run()["reviews"], night.called) == (200, [1])


def test_a_night_takes_as_many_functions_as_the_installation_allows(night: Night) -> None:
    night.names, night.functions = [f"agent-{number}" for number in range(900)], 3
    night.milliseconds = 900_000
    assert (night.run()["done"], night.called) == (900, [1, 1])
    night.called.clear()
    night.names, night.functions = [f"crab-{number}" for number in range(450)], 1
    night.milliseconds = 900_000
    assert (night.run()["done"], night.called) == (450, [])


def test_a_night_that_cannot_be_divided_only_takes_longer(night: Night) -> None:
    night.names = [f"agent-{number}" for number in range(450)]
    night.refused = [NeverSent("function 'x' was not started") for _ in range(6)]
    assert night.run()["done"] == 450
    assert (night.called, night.pauses) == ([], [1.0, 1.0])
    assert any("missing=2, unknown=0" in str(each) for each in night.function.log())


@pytest.mark.parametrize("failed", range(3))
def test_a_call_that_did_not_arrive_is_made_again_and_keeps_no_other_from_its_way(
    night: Night, failed: int
) -> None:
    night.names = [f"agent-{number}" for number in range(800)]
    night.refused = [*[None] * failed, NeverSent("too many requests")]
    night.milliseconds = 900_000
    assert night.run()["done"] == 800
    assert (night.called, night.pauses) == ([1, 1, 1], [1.0])
    assert "cannot call" not in str(night.function.log())


@pytest.mark.parametrize("failed", range(3))
def test_a_call_that_perhaps_arrived_is_not_made_again(night: Night, failed: int) -> None:
    night.names = [f"agent-{number}" for number in range(800)]
    night.refused = [*[None] * failed, Unavailable("no answer")]
    night.milliseconds = 900_000
    assert night.run()["done"] == 800
    assert (night.called, night.pauses) == ([1, 1], [])
    assert "missing=0, unknown=1" in str(night.function.log())


def test_a_call_that_is_about_to_be_cut_off_hands_on_what_it_holds_once(night: Night) -> None:
    night.names, night.trouble = ["long"], {"long": RuntimeError(SECRET)}
    assert night.run()["failed"] == 1
    night.trouble.clear()
    night.function.house.clock.advance(VISIBILITY_SECONDS + 1)
    night.names, night.milliseconds = ["slow", "never"], 119_000

    def cut_off() -> None:
        assert 103.0 <= night.timer.seconds <= 104.0
        night.milliseconds = 15_000
        night.timer.ring()
        night.timer.ring()
        raise KeyboardInterrupt

    night.meanwhile = cut_off
    with pytest.raises(KeyboardInterrupt):
        night.run()
    assert night.called == [1]
    night.meanwhile, night.milliseconds = lambda: None, 900_000
    night.called.clear()
    night.function.house.clock.advance(19)
    early = list(night.ran)
    assert night.run(1)["done"] == 1
    assert night.ran[len(early) :] == ["never"], "what was held comes after the call has ended"
    night.function.house.clock.advance(2)
    assert night.run(1)["done"] == 2
    assert (sorted(night.ran[-2:]), night.counts["slow"]) == (["long", "slow"], 2)
    assert night.called == []


def test_a_night_that_ends_in_its_last_seconds_is_done_and_its_successor_called_once(
    night: Night,
) -> None:
    night.names, night.milliseconds = ["slow"], 100_000

    def late() -> None:
        night.milliseconds = 14_000
        night.timer.ring()

    night.meanwhile = late
    assert (night.run()["done"], night.called) == (1, [1])
    night.timer.ring()
    night.meanwhile, night.milliseconds = lambda: None, 900_000
    night.function.house.clock.advance(VISIBILITY_SECONDS + 1)
    # A queue may deliver again what was given back and then acknowledged; it is found done.
    assert night.run(1) in ({"done": done, "later": 0, "failed": 0} for done in (0, 1))
    assert (night.run(1)["done"], night.called) == (0, [1])


@pytest.mark.parametrize("lost", ["receive", "acknowledge", "continue_later", "call"])
def test_no_single_failure_at_the_queue_ends_a_night(night: Night, lost: str) -> None:
    night.names, night.trouble = ["one", "two"], {each: RuntimeError() for each in ("one", "two")}
    assert night.run()["failed"] == 2
    night.trouble.clear()
    night.function.house.clock.advance(VISIBILITY_SECONDS + 1)
    night.names, night.milliseconds = ["short"], 119_000
    if lost == "call":
        night.refused = [NeverSent("no room")]
    else:
        night.queue.down[lost] = Unavailable("no queue")
    night.run()
    assert night.called == [1]
    night.milliseconds = 900_000
    for seconds in (6, VISIBILITY_SECONDS + 1):
        night.function.house.clock.advance(seconds)
        night.run(1)
    assert {"one", "two", "short"} <= set(night.ran)
    assert night.run(1) == {"done": 0, "later": 0, "failed": 0}


def test_calls_that_follow_each_other_come_to_an_end(night: Night) -> None:
    night.names, night.milliseconds = ["hana"], 59_000
    assert night.run(MOST_SUCCESSORS - 1)["done"] == 0
    assert night.called == [MOST_SUCCESSORS]
    assert night.run(MOST_SUCCESSORS)["done"] == 0
    assert night.called == [MOST_SUCCESSORS]


def test_a_night_that_was_cut_off_has_more_time_in_a_call_of_its_own(night: Night) -> None:
    night.names = ["long"]
    night.trouble = {"long": RuntimeError(SECRET)}
    assert night.run()["failed"] == 1
    night.trouble.clear()
    night.function.house.clock.advance(VISIBILITY_SECONDS + 1)
    night.milliseconds = 119_000
    assert (night.run()["done"], night.called) == (0, [1])
    night.milliseconds = 900_000
    assert night.run(1)["done"] == 1


def test_calls_with_little_time_do_not_hand_a_night_round_until_it_is_a_dead_letter(
    night: Night,
) -> None:
    night.names, night.trouble = ["long"], {"long": RuntimeError(SECRET)}
    assert night.run()["failed"] == 1
    night.trouble.clear()
    night.function.house.clock.advance(VISIBILITY_SECONDS + 1)
    night.names, night.milliseconds = ["short"], 119_000
    night.meanwhile = lambda: [night.run(1) for _ in range(6)]
    assert (night.run()["done"], night.called) == (1, [1])
    night.meanwhile, night.milliseconds = lambda: None, 900_000
    assert (night.run(1)["done"], night.counts["long"]) == (1, 3)


def test_who_cannot_be_told_of_the_night_is_told_of_it_the_next_hour(night: Night) -> None:
    night.down = Unavailable("no table")
    with pytest.raises(Unavailable):
        night.run()
    assert night.ran == []


def test_a_timer_acts_in_a_thread_of_its_own_unless_it_is_cancelled() -> None:
    acted, cancelled = Event(), Event()
    never = thread_timer(0.2, cancelled.set)
    never.start()
    never.cancel()
    thread_timer(0.01, acted.set).start()
    assert acted.wait(10)
    assert not cancelled.wait(0.4)
