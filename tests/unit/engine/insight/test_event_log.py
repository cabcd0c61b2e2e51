"""An agent's history: exactly Avatar's events, each of them once, whoever reads how often."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.value import Language
from opencrab.engine.insight.event_log import EventPage, page_of_insight_events
from opencrab.engine.insight.turn_index import SETTLED
from tests.crash.outside import Reply
from tests.e2e.house import START, House
from tests.unit.engine.telling import (
    INSTRUCTION,
    asking,
    decided,
    instruct,
    plan,
    planner,
    shown,
    tell_all,
)
from tests.unit.engine.telling import house as opened

FIELDS = {
    "input": {("time", "type", "source", "text")},
    "thought": {("time", "type", "judgment", "intent")},
    "action": {("time", "type", "summary")},
    "result": {
        ("time", "type", "status", "summary"),
        ("time", "type", "status", "goal", "name", "rate"),
    },
}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with opened(tmp_path) as found:
        yield found


@pytest.mark.parametrize("language", list(Language))
def test_an_instruction_is_told_from_its_words_to_its_goal(
    house: House, language: Language
) -> None:
    house.agent("crab", (), language)
    instruct(house, "crab", planner(language), language)
    told = shown(tell_all(house, "crab"))
    word = {Language.JA: "書く", Language.EN: "write"}[language]
    assert told[0] == {"type": "input", "source": "rest", "text": INSTRUCTION[language]}
    assert (told[1]["type"], told[1]["judgment"]) == ("thought", f"{word}…")
    assert told[1]["intent"] == told[2]["summary"]
    results = [event for event in told if event["type"] == "result"]
    ends = [event["summary"] for event in results if event.get("summary", "").startswith("[")]
    assert ends == [
        *(f"[G1-T{n}] DONE {word} {n}" for n in range(1, 5)),
        f"[G1-T5] FAIL {word} 5 / ?",
    ]
    failed = [event["summary"] for event in results if event["status"] == "fail"]
    assert failed == ends[-1:]
    assert told[-1] == {
        "type": "result",
        "status": "goal_done",
        "goal": "G1",
        "name": INSTRUCTION[language],
        "rate": "80%",
    }


def test_what_ends_with_plain_words_is_told_too(house: House) -> None:
    house.agent("crab", ())
    said = (Reply(text="I did that"),)
    instruct(house, "crab", ((plan(Language.EN), Reply()), *(said,) * 6))
    told = shown(tell_all(house, "crab"))
    ends = [event["summary"] for event in told if event.get("summary", "").startswith("[")]
    assert ends == [f"[G1-T{n}] DONE write {n}" for n in range(1, 6)]
    # It only said so: no action was done for any of its tasks.
    assert (told[-1]["status"], told[-1]["rate"]) == ("goal_done", "0%")
    assert [event["status"] for event in told if event["type"] == "result"].count("goal_done") == 1


def test_every_event_has_exactly_the_fields_of_avatar(house: House) -> None:
    house.agent("crab", ())
    instruct(house, "crab", planner())
    found: dict[str, set[tuple[str, ...]]] = {}
    for event in tell_all(house, "crab"):
        line = json.loads(event.model_dump_json())
        found.setdefault(line["type"], set()).add(tuple(line))
        assert line["time"].endswith("Z")
    assert found == FIELDS


def test_pages_of_any_size_tell_the_same(house: House) -> None:
    house.agent("crab", ())
    instruct(house, "crab", planner())
    whole = tell_all(house, "crab")
    assert whole == tell_all(house, "crab", limit=1) == tell_all(house, "crab", limit=7)
    times = [event.time for event in whole]
    assert times == sorted(times)


def test_a_turn_that_waits_holds_nobody_up_and_is_told_to_its_end_later(house: House) -> None:
    write = ("ws_write", {"path": "a.md", "content": "x"})
    asking(house, "crab", Language.JA)
    house.scripts["crab"] = (Reply(calls=(write,)), Reply(text="written"))
    house.say("書いて")
    house.work()
    first = page_of_insight_events(house.runtime, "crab")
    assert [event.type for event in first.events] == ["input", "action"]
    assert page_of_insight_events(house.runtime, "crab", after=first.place).events == ()
    house.clock.advance(1)
    house.scripts["crab"] = (Reply(text="はい"), Reply(text="はい"))
    house.say("元気?", "m2")
    house.work()
    second = page_of_insight_events(house.runtime, "crab", after=first.place)
    assert [event.type for event in second.events] == ["input", "result"]
    house.scripts["crab"] = (Reply(calls=(write,)), Reply(text="written"))
    decided(house, approved=True)
    house.work()
    third = page_of_insight_events(house.runtime, "crab", after=second.place)
    assert [event.type for event in third.events] == ["result", "result"]
    again = page_of_insight_events(house.runtime, "crab", after=third.place)
    assert (again.events, again.place) == ((), third.place)


def test_a_turn_that_comes_in_late_is_told_once_like_any_other(house: House) -> None:
    house.session(house.agent("crab", (Reply(text="1"),)))
    house.clock.advance(5)
    house.say("first")
    house.work()
    first = page_of_insight_events(house.runtime, "crab")
    right, house.runtime = house.runtime, replace(house.runtime, clock=FakeClock(START))
    house.scripts["crab"] = (Reply(text="2"),)
    house.say("by a slow clock / 遅い時計", "m2")
    house.work()
    house.runtime = right
    second = page_of_insight_events(house.runtime, "crab", after=first.place)
    told = shown([*first.events, *second.events])
    assert [event.get("text") or event["summary"] for event in told] == [
        "first",
        "1",
        "by a slow clock / 遅い時計",
        "2",
    ]
    house.clock.advance(SETTLED.total_seconds() + 1)
    third = page_of_insight_events(house.runtime, "crab", after=second.place)
    assert third.events == ()
    assert "/" not in third.place
    assert page_of_insight_events(house.runtime, "crab", after=third.place) == third


def test_so_many_turns_are_gone_on_after_and_no_more(house: House) -> None:
    house.session(house.agent("crab", ()))
    for n in range(20):
        house.scripts["crab"] = (Reply(text=f"{n}"),)
        house.say("?", f"m{n}")
        house.work()
    first = page_of_insight_events(house.runtime, "crab")
    assert len(first.events) == 2 * 16
    assert page_of_insight_events(house.runtime, "crab", after=first.place) == EventPage(
        (), first.place
    )
    house.clock.advance(SETTLED.total_seconds() + 1)
    rest = page_of_insight_events(house.runtime, "crab", after=first.place)
    assert len(rest.events) == 2 * 4
    whole = tell_all(house, "crab", limit=3)
    assert sorted(shown(whole), key=str) == sorted(shown([*first.events, *rest.events]), key=str)


def test_a_model_that_fails_is_told_as_a_failure(house: House) -> None:
    crab = house.agent("crab", (Reply(),), Language.JA)
    house.session(crab)
    house.say("x" * 5_000)
    house.work()
    told = shown(tell_all(house, "crab"))
    assert len(told[0]["text"]) == 4_000
    assert told[1:] == [{"type": "result", "status": "done", "summary": "何も言わずに終わりました"}]


def test_an_agent_without_a_past_has_no_events(house: House) -> None:
    house.agent("crab", ())
    page = page_of_insight_events(house.runtime, "crab")
    assert (page.events, page.place) == ((), "")
    with pytest.raises(NotFound):
        page_of_insight_events(house.runtime, "nobody")


@pytest.mark.parametrize("place", ["a b", "a/b", "a/b@x", "ä", "/" + "x" * 300 + "@1", "a/b@1\n"])
def test_a_text_that_is_no_place_is_refused(house: House, place: str) -> None:
    house.agent("crab", ())
    with pytest.raises(Invalid):
        page_of_insight_events(house.runtime, "crab", after=place)


def test_a_place_made_up_by_somebody_tells_nothing_of_others(house: House) -> None:
    house.agent("crab", ())
    house.agent("gull", ())
    instruct(house, "crab", planner())
    house.clock.advance(SETTLED.total_seconds() + 1)
    entry = page_of_insight_events(house.runtime, "crab", limit=1).place.partition("/")[0]
    assert page_of_insight_events(house.runtime, "gull", after=f"/{entry}@0").events == ()
