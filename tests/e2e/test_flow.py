"""An answer while it is said: who sees it, and what a stop, a pause and a freeze leave of it."""

import pytest

from opencrab.domain.conversation.message import LineKind
from opencrab.domain.learning.signals import SIGNALS, TurnSignals
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.turn.record import CallState, ModelResult
from opencrab.domain.turn.turn import Stop, TurnStatus
from opencrab.engine.queueing import enqueue_turn
from opencrab.engine.turn import control
from tests.crash.outside import PRICE, Reply
from tests.e2e import beating
from tests.e2e.house import House
from tests.e2e.saying import Parts, can_be_watched, everywhere, speak, watched

ANSWERS = {
    "en": "one two three four five six seven eight nine ten",
    "ja": "ひとつ ふたつ みっつ よっつ いつつ むっつ ななつ やっつ ここのつ とお",
}
LONG = ANSWERS["en"]
STOPPED = "I stopped, as requested."
INCOMPLETE = "I stopped, as requested: the answer above is incomplete."


def texts(house: House) -> list[tuple[LineKind, str]]:
    return [(line.kind, line.text) for line in house.lines()]


@pytest.mark.parametrize("language", ["en", "ja"])
def test_whoever_watches_sees_the_words_before_the_answer_is_complete(
    home: House, language: str
) -> None:
    home.session(home.agent("crab", (Reply(ANSWERS[language]),)))
    parts, seen = watched(home), list[str]()
    speak(home, lambda _word: seen.extend(part.text for part in parts()))
    home.say("count")
    home.work()
    first, last = ANSWERS[language].split(" ", 1)
    assert seen[0] == first
    rest = [part for part in parts() if part.text or part.ended]
    assert "".join(seen) + "".join(part.text for part in rest) == f"{first} {last}"
    assert rest[-1].ended
    assert texts(home) == [(LineKind.SPEECH, ANSWERS[language])]


def test_whoever_comes_late_gets_all_of_the_answer(home: House) -> None:
    home.session(home.agent("crab", (Reply(LONG),)))
    can_be_watched(home)
    subscription = list[Parts]()
    taken = list[str]()

    def happens(word: int) -> None:
        if word == 6:
            subscription.append(watched(home))
        for parts in subscription:
            taken.extend(part.text for part in parts())

    speak(home, happens)
    home.say("count")
    home.work()
    assert "".join(taken).startswith("one two three four five six")


def test_words_of_a_turn_that_the_agent_began_itself_are_shown_to_nobody(home: House) -> None:
    beating.living(home, "crab", (Reply(LONG),), instructions="Look around")
    parts = everywhere(home)
    speak(home)
    assert beating.tell(home, "crab")
    beating.minutes(home, 2, step=10)
    (turn,) = beating.turns(home, "crab")
    assert turn.status is TurnStatus.COMPLETED
    assert parts() == ()


@pytest.mark.parametrize("word", [2, 5, 7])
def test_a_stop_ends_the_call_and_keeps_what_was_said(house: House, word: int) -> None:
    house.session(house.agent("crab", (Reply(LONG),)))
    (turn,) = house.say("count", channel="wall")

    def happens(now: int) -> None:
        if now == word:
            control.stop_turn(house.runtime, turn.id, by="owner")

    models = speak(house, happens)
    house.work()
    said = " ".join(LONG.split(" ")[: models[-1].said])
    assert word <= models[-1].said <= word + 2, "looked at every 100 ms"
    assert texts(house) == [(LineKind.SPEECH, said), (LineKind.SYSTEM, INCOMPLETE)]
    assert house.turn(turn.id).status is TurnStatus.STOPPED
    assert [text for _, text in house.wall.shown] == [f"{said}\n\n{INCOMPLETE}"]


def test_a_stopped_call_costs_what_has_arrived_and_less_than_its_reservation(house: House) -> None:
    house.session(house.agent("crab", (Reply(LONG),)))
    (turn,) = house.say("count")
    models = speak(
        house, lambda word: word == 3 and control.stop_turn(house.runtime, turn.id, by="o")
    )
    house.work()
    (billed,) = models[-1].billed
    records = house.home.journal.load(turn.id).records
    (result,) = [record for record in records if isinstance(record, ModelResult)]
    assert result.state is CallState.CANCELLED
    (row,) = house.home.usage.rows("crab")
    assert PRICE.cost(billed) <= result.cost == row.cost < row.reserved
    assert row.unconfirmed_micro_usd == row.cost, "the vendor has counted nothing"
    assert house.turn(turn.id).allowance == 0
    (told,) = house.home.facts.page("crab", SIGNALS, limit=9)
    (served,) = told.read(TurnSignals).served
    assert (served.calls, served.failed, served.cost) == (1, 0, row.cost)


def test_a_stop_before_the_first_word_leaves_the_notice_only(house: House) -> None:
    house.session(house.agent("crab", (Reply(calls=(("ws_list", {}),)), Reply("done"))))
    (turn,) = house.say("look")
    speak(house, lambda _word: control.stop_turn(house.runtime, turn.id, by="owner"))
    house.work()
    assert [text for _, text in texts(house)] == [STOPPED]


@pytest.mark.parametrize("scope", [INSTALLATION, "crab"])
def test_a_freeze_ends_a_call_that_runs(house: House, scope: str) -> None:
    house.session(house.agent("crab", (Reply(LONG),)))
    turns = house.say("count")

    def freeze(word: int) -> None:
        if word == 2:
            house.home.switches.set(scope, frozen=True)

    speak(house, freeze)
    house.work()
    assert house.statuses(turns) == [TurnStatus.STOPPED]
    (said, notice) = texts(house)
    assert said[1].startswith("one two")
    assert len(said[1]) < len(LONG)
    assert "frozen" in notice[1]


def test_a_pause_ends_the_call_and_the_model_is_asked_again_when_it_is_over(house: House) -> None:
    house.session(house.agent("crab", (Reply(LONG),)))
    (turn,) = house.say("count")
    paused = Stop(by="owner", reason="", at=house.clock.now(), pause=True)
    journal = house.home.journal
    models = speak(
        house, lambda word: word == 2 and len(models) == 1 and journal.stop(turn.id, paused)
    )
    house.work()
    assert house.turn(turn.id).status is TurnStatus.WAITING
    assert LineKind.SPEECH not in {kind for kind, _ in texts(house)}
    resumed = journal.resume(turn.id)
    enqueue_turn(house.home, resumed, again="-resume")
    house.work()
    assert house.turn(turn.id).status is TurnStatus.COMPLETED
    assert texts(house)[-1] == (LineKind.SPEECH, LONG)
    assert house.provider.bill.received == 2


def test_a_stop_after_the_last_word_changes_nothing(house: House) -> None:
    house.session(house.agent("crab", (Reply(LONG),)))
    (turn,) = house.say("count")
    speak(house, lambda word: word == 10 and control.stop_turn(house.runtime, turn.id, by="o"))
    house.work()
    assert house.turn(turn.id).status is TurnStatus.COMPLETED
    assert texts(house) == [(LineKind.SPEECH, LONG)]


def test_two_stops_at_once_are_one(house: House) -> None:
    house.session(house.agent("crab", (Reply(LONG),)))
    (turn,) = house.say("count")

    def twice(word: int) -> None:
        if word in {2, 3}:
            control.stop_turn(house.runtime, turn.id, by=f"owner{word}")

    speak(house, twice)
    house.work()
    stored = house.turn(turn.id)
    assert stored.stop is not None
    assert stored.stop.by == "owner2"
    assert [kind for kind, _ in texts(house)] == [LineKind.SPEECH, LineKind.SYSTEM]
