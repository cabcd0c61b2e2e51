"""Search by a time or by a speaker, with the words of the answer or without."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from opencrab.domain.access.session_access import SESSION_ACCESS, SessionAccess
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.memory.search_row import SearchClearance
from opencrab.domain.text.ranking import MOST_HITS
from tests.contract.example import NOW
from tests.contract.searched import Place

ELISE: dict[str, Any] = {"speaker_id": "elise", "speaker_name": "Elise"}
KEN: dict[str, Any] = {"speaker_id": "ken", "speaker_name": "健太"}
THEN = datetime.fromisoformat("2025-12-31T12:00:00+00:00")
HARBOUR, WALK = "The harbour was full of lights", "今日は浜辺を歩いた"


def _talk(place: Place) -> None:
    """Thirty lines that share words with a question, and two of its day that share none."""
    for number in range(30):
        at = THEN - timedelta(days=300 - 5 * number)
        place.life.say(f"where we were, {number} / どこにいたか", at=at, **KEN)
    place.life.meet("day", "hana")
    place.life.say(HARBOUR, "day", at=THEN, **ELISE)
    place.life.say(WALK, "day", at=THEN + timedelta(minutes=1), **KEN)
    place.index()


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Where was Elise on 31 Dec 2025?", HARBOUR),
        ("2025年12月31日、健太はどこにいた?", WALK),
        ("12/31 is 2025-12-31: Elise", HARBOUR),
        ("健太は昨年の12月31日に何をした", WALK),
    ],
)
@pytest.mark.parametrize("limit", [3, 10])
def test_a_day_finds_what_was_said_then_without_its_words(
    place: Place, question: str, first: str, limit: int
) -> None:
    _talk(place)
    found = place.found(question, limit=limit)
    texts = [each.row.text for each in found]
    assert texts[0] == first
    # Among three, what has words of the question and is only near that day goes first.
    assert limit == 3 or {HARBOUR, WALK} <= set(texts)
    assert "date" in found[0].why


def test_busy_days_beside_it_do_not_crowd_out_a_day(place: Place) -> None:
    place.life.say(HARBOUR, at=THEN, **ELISE)
    for number in range(MOST_HITS + 10):
        place.life.say(f"雨{number}x", at=THEN + timedelta(days=2, minutes=number), **KEN)
    place.index()
    assert place.find("31 Dec 2025", limit=3)[0] == HARBOUR


def test_a_day_is_one_of_the_zone_that_is_given(place: Place) -> None:
    late = datetime.fromisoformat("2026-02-15T20:00:00+00:00")
    place.life.say("moonlight", at=late)
    place.life.say("sunlight", at=late - timedelta(days=5, hours=10))
    place.index()
    assert place.found("2月16日", zone="Asia/Tokyo")[0].row.text == "moonlight"
    (hit,) = [each for each in place.found("on 15 February") if "moonlight" in each.row.text]
    assert hit.why == ("date",)
    assert place.found("昨日", zone="UTC")[0].why == ("date",)


@pytest.mark.parametrize(("name", "last"), [("Elise", "stars 9"), ("健太", "星 9")])
def test_a_name_alone_finds_what_that_speaker_said_last(place: Place, name: str, last: str) -> None:
    place.life.meet("elsewhere", "hana")
    for number in range(10):
        place.life.say(f"stars {number}", **ELISE)
        place.life.say(f"星 {number}", **KEN)
        place.life.say(f"{name} is mentioned, {number}", "elsewhere")
    place.index()
    found = place.found(name, limit=10)
    assert found[0].row.text == last
    assert [each.row.speaker for each in found].count(found[0].row.speaker) == 7
    assert sum("mentioned" in each.row.text for each in found) == 3


def test_who_may_not_hear_of_a_day_or_a_speaker_finds_nothing_of_it(place: Place) -> None:
    place.life.meet("hidden", "hana")
    place.life.say(HARBOUR, "hidden", at=THEN, **ELISE)
    place.life.say("open / 公開", at=THEN, **KEN)
    place.index()
    members = SessionAccess(members=("ken",))
    fact = new_fact(INSTALLATION_FACTS, SESSION_ACCESS, "s1", members)
    place.home.facts.commit(fact)
    ken = SearchClearance(session_id="s1", person_id="ken")
    for question in ("31 Dec 2025", "Elise on 2025-12-31", "Elise", "昨年12月31日の Elise"):
        assert HARBOUR not in place.find(question, clearance=ken)
    assert place.find("31 Dec 2025", clearance=ken) == ["open / 公開"]
    assert HARBOUR in place.find("31 Dec 2025")


def test_the_present_question_is_not_an_answer_to_itself(place: Place) -> None:
    place.life.say("yesterday's news", at=NOW - timedelta(days=1))
    line = place.life.say("what was said today? / 今日は何を話した?", at=NOW)
    place.index()
    assert place.find("what was said today?", before=("s1", line)) == ["yesterday's news"]


def test_a_filter_holds_for_named_rows_too(place: Place) -> None:
    place.life.say(HARBOUR, at=THEN, **ELISE)
    place.life.say(WALK, at=THEN, **KEN)
    place.index()
    assert place.find("31 Dec 2025", speaker="健太") == [WALK]
    assert place.find("31 Dec 2025", until=THEN - timedelta(seconds=1)) == []


def test_words_alone_count_where_nobody_asks_a_question(place: Place) -> None:
    place.life.say(HARBOUR, at=THEN, **ELISE)
    place.index()
    assert place.find("31 Dec 2025", only_words=True) == []
    assert place.find("Elise", only_words=True) == []
