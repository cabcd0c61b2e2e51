"""Evidence is read at once: a closed day counts once, and days since are told one by one."""

from opencrab.domain.document import new_fact
from opencrab.domain.learning.evidence import EVIDENCE, STANDING, ClosedEvidence, Evidence
from opencrab.ports.home import Home
from opencrab.ports.learning import StoredEvidence, load_learning_data

CLOSED, OPEN = "2026-11-20", "2026-11-21"


def turns(count: int) -> Evidence:
    return Evidence(turns=count, judged=count)


def test_of_whom_nothing_is_known_nothing_is_told(home: Home) -> None:
    assert load_learning_data(home.facts, "mika") == StoredEvidence(Evidence(), {}, "")


def test_a_closed_day_counts_once(home: Home) -> None:
    home.facts.commit(
        *(new_fact("mika", EVIDENCE, day, turns(2)) for day in (CLOSED, OPEN)),
        new_fact("hana", EVIDENCE, OPEN, turns(90)),
    )
    assert load_learning_data(home.facts, "mika").evidence == turns(4)
    closed = ClosedEvidence(closed_to=CLOSED, evidence=turns(5))
    home.facts.commit(new_fact("mika", EVIDENCE, STANDING, closed))
    assert load_learning_data(home.facts, "mika") == StoredEvidence(
        turns(7), {OPEN: turns(2)}, OPEN
    )


def test_what_is_closed_is_known_to_its_last_day(home: Home) -> None:
    closed = ClosedEvidence(closed_to=CLOSED, evidence=turns(5))
    home.facts.commit(new_fact("mika", EVIDENCE, STANDING, closed))
    assert load_learning_data(home.facts, "mika") == StoredEvidence(turns(5), {}, CLOSED)
