"""Experiences over REST: what a night proposes to recall no more, and the owner's say in it."""

from collections.abc import Iterator

import pytest

from opencrab.domain.document import new_fact
from opencrab.domain.learning.signals import SIGNALS, TurnSignals
from opencrab.domain.memory.memory import EXPERIENCE, LIVED
from tests.integration.rest.house import problem
from tests.integration.rest.learning import School


@pytest.fixture
def school(tmp_path_factory: pytest.TempPathFactory) -> Iterator[School]:
    """An installation of its own."""
    school = School(tmp_path_factory.mktemp("school"))
    yield school
    school.close()


def useless(school: School) -> tuple[str, str]:
    """An agent, and an experience of it that searches found and that was never of use."""
    agent, session = school.pupil("Kai", language="en")
    school.lesson(agent, session, 1)
    facts = school.runtime.home.facts
    (lived,), (told,) = facts.page(agent, EXPERIENCE), facts.page(agent, SIGNALS)
    signals = told.read(TurnSignals).replaced(found=(f"{LIVED}{lived.id}",))
    for n in range(3):
        each = signals.replaced(turn_id=f"t{n}")
        facts.commit(new_fact(agent, SIGNALS, each.id, each))
    school.next_day()
    return agent, lived.id


def test_an_experience_goes_at_its_owners_word_and_comes_back(school: School) -> None:
    agent, name = useless(school)
    looked = school.made(f"/agents/{agent}/meta/runs", {})
    assert looked["lived"] == {"found": 1, "useless": [name], "rate": 1.0}
    (proposed,) = school.got(f"/agents/{agent}/changes")["items"]
    subject = f"experience:{name}"
    assert (proposed["experiment"], proposed["after"]) == (subject, {"remark": "retire"})
    assert "like" in proposed["says"][0]
    place = f"/agents/{agent}/changes/{proposed['id']}"
    assert school.got(place) == proposed
    pins = f"/agents/{agent}/experiments"
    assert school.made(f"{pins}/{subject}/pin", None) == {"subject": subject, "pinned": True}
    assert "unpin" in problem(school.call("POST", f"{place}/apply"), 409)["cure"]
    problem(school.call("POST", f"{pins}/{subject}/stop"), 409, "subject")
    problem(school.call("POST", f"{pins}/experience:none/pin"), 404, "subject")
    school.made(f"{pins}/{subject}/unpin", None)
    sent = {"headers": {"Idempotency-Key": "go"}}
    made = school.made(f"{place}/apply", None, **sent)
    assert school.made(f"{place}/apply", None, **sent) == made
    assert (made["state"], made["after"], made["says"]) == ("applied", {"status": "archived"}, [])
    shown = f"/agents/{agent}/memory/experiences"
    assert school.got(shown)["items"][0]["retired_at"] == made["at"]
    undone = school.made(f"{place}/undo", None)
    assert (undone["state"], undone["says"]) == ("undone", [])
    assert school.got(shown)["items"][0]["retired_at"] is None
    problem(school.call("POST", f"{place}/apply"), 409)
