"""Evidence is read at once: a closed day counts once, and days since are told one by one."""

from datetime import UTC, date, datetime, timedelta

from opencrab.domain.document import Document, new_fact
from opencrab.domain.identifier import new_ulid
from opencrab.domain.learning.evidence import EVIDENCE, STANDING, ClosedEvidence, Evidence
from opencrab.domain.learning.signals import SIGNALS, ServedCalls, TurnSignals
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.models.routing import Use
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.turn import Trigger, TurnStatus
from opencrab.ports.home import Home
from opencrab.ports.learning import load_current_learning_data
from tests.saved_evidence import saved_evidence

CLOSED, OPEN = "2026-11-20", "2026-11-21"


def turns(count: int) -> Evidence:
    return Evidence(turns=count, judged=count)


def told(home: Home) -> tuple[Evidence, dict[date, Evidence], str]:
    """All evidence, that of the open days, and the last day that is in it."""
    known = load_current_learning_data(home.facts, "mika", NOW)
    return known.evidence, known.open, known.as_of


def test_of_whom_nothing_is_known_nothing_is_told(home: Home) -> None:
    assert told(home) == (Evidence(), {}, "")


def test_a_closed_day_counts_once(home: Home) -> None:
    home.facts.commit(
        *(new_fact("mika", EVIDENCE, day, turns(2)) for day in (CLOSED, OPEN)),
        new_fact("hana", EVIDENCE, OPEN, turns(90)),
    )
    assert told(home)[0] == turns(4)
    closed = ClosedEvidence(closed_to=CLOSED, evidence=turns(5))
    home.facts.commit(new_fact("mika", EVIDENCE, STANDING, closed))
    assert told(home) == (turns(7), {date.fromisoformat(OPEN): turns(2)}, OPEN)


def test_what_is_closed_is_known_to_its_last_day(home: Home) -> None:
    closed = ClosedEvidence(closed_to=CLOSED, evidence=turns(5))
    home.facts.commit(new_fact("mika", EVIDENCE, STANDING, closed))
    assert told(home) == (turns(5), {}, CLOSED)


NOW = datetime(2026, 11, 22, 15, tzinfo=UTC)
MODEL = "scripted:rules"


def ended(turn: str, at: datetime) -> Document:
    served = ServedCalls(model=MODEL, purpose=Use.CONVERSATION, task_type="chat", chosen_by="use")
    told = TurnSignals(
        turn_id=turn,
        session_id="s1",
        at=at,
        trigger=Trigger.MESSAGE,
        status=TurnStatus.COMPLETED,
        served=(served,),
    )
    return new_fact("mika", SIGNALS, told.id, told)


def opinion(turn: str, at: datetime, outcome: Outcome) -> Document:
    made = Experience(
        id=new_ulid(int(at.timestamp() * 1_000), turn.encode().ljust(10)[:10]),
        at=at,
        experience="こんにちは",
        outcome=outcome,
        lesson="よい",
        about_turn=turn,
        from_person="owner",
    )
    return new_fact("mika", EXPERIENCE, made.id, made)


def test_what_is_said_now_of_a_turn_of_today_is_known_now(home: Home) -> None:
    early, late = NOW - timedelta(days=1), NOW - timedelta(hours=1)
    home.facts.commit(new_fact("mika", EVIDENCE, OPEN, turns(1)), ended("t1", early))
    assert load_current_learning_data(home.facts, "mika", NOW).evidence.judged == 0
    home.facts.commit(ended("t2", late), opinion("t2", late, Outcome.SUCCESS))
    # Of yesterday's turn somebody says so today.
    home.facts.commit(opinion("t1", early, Outcome.FAILURE))
    found = load_current_learning_data(home.facts, "mika", NOW)
    assert found.as_of == "2026-11-22"
    assert sorted(found.open) == [date.fromisoformat(OPEN), NOW.date()]
    assert (found.evidence.turns, found.evidence.judged) == (2, 2)
    known = found.evidence.models[f"conversation/chat/{MODEL}"].quality
    assert (known.n, known.mean) == (2, 0.5)
    # Nothing was stored: the nightly review does that.
    assert [fact.id for fact in home.facts.page("mika", EVIDENCE)] == [OPEN]
    assert saved_evidence(home.facts, "mika") == turns(1)


def test_closed_days_are_not_counted_again(home: Home) -> None:
    home.facts.commit(
        new_fact("mika", EVIDENCE, STANDING, ClosedEvidence(closed_to=OPEN, evidence=turns(5))),
        ended("t1", NOW - timedelta(days=1)),
        ended("t2", NOW - timedelta(days=30)),
    )
    found = load_current_learning_data(home.facts, "mika", NOW)
    assert (found.evidence, found.as_of) == (turns(5), OPEN)


def test_a_day_whose_turns_are_gone_is_as_it_was_stored(home: Home) -> None:
    home.facts.commit(new_fact("mika", EVIDENCE, OPEN, turns(3)))
    assert load_current_learning_data(home.facts, "mika", NOW).evidence == turns(3)
