"""Gaps: what cannot be summarised is passed over, seen, and tried again on demand."""

from dataclasses import replace
from pathlib import Path

from opencrab.domain.memory.summary import Gap, SummarySpan
from opencrab.engine.memory.compaction.turn import retry_compaction
from opencrab.engine.memory.status import memory_status
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.searching import searching
from tests.unit.engine.compacting import (
    EVERY,
    TOLD,
    ask,
    grow,
    house,
    library,
    progress,
    script,
    shelf,
    summaries,
)


def given_up(made: House, cause: str = "x") -> None:
    """Three failures, and one more a day later."""
    for n in range(4):
        ask(made, f"{cause}{n}")
        made.work()
        made.clock.advance(600 if n < 2 else 90_000)


def test_what_fails_a_day_later_too_is_passed_over_with_a_visible_gap(tmp_path: Path) -> None:
    made, _ = house(tmp_path, Reply(""))
    grow(made, EVERY * 3)
    given_up(made)
    stood = progress(made)
    assert [(gap.first, gap.last) for gap in stood.gaps] == [(1, EVERY)]
    assert "empty model response" in stood.gaps[0].error
    assert (stood.passed, stood.failures, stood.done) == (1, 0, EVERY)
    script(made, TOLD)
    ask(made, "next")
    made.work()
    firsts = [s.sources[0].first for s in summaries(made) if s.span is SummarySpan.TOPIC]
    assert firsts == [EVERY + 1, EVERY * 2 + 1]
    assert progress(made).gaps == stood.gaps
    made.close()


def test_a_gap_is_closed_when_an_owner_has_it_tried_again(tmp_path: Path) -> None:
    made, _ = house(tmp_path, Reply(""))
    grow(made, EVERY * 2)
    given_up(made)
    script(made, TOLD)
    ask(made, "next")
    made.work()
    script(made, Reply(""))
    retry_compaction(made.runtime, "mika", "s")
    made.work()
    stood = progress(made)
    assert (stood.passed, stood.done, stood.failures, stood.gap_to_retry) == (1, EVERY * 2, 0, None)
    script(made, TOLD)
    made.clock.advance(60)
    retry_compaction(made.runtime, "mika", "s")
    made.work()
    stood = progress(made)
    assert (stood.gaps, stood.passed, stood.done) == ((), 0, EVERY * 2)
    assert [topic.last for topic in stood.topics] == [EVERY, EVERY * 2]
    made.close()


def test_a_gap_of_which_nothing_is_left_is_closed_without_a_model(tmp_path: Path) -> None:
    made, _ = house(tmp_path, Reply(""))
    grow(made, EVERY)
    fact, before = library(made).compaction("s")
    gap = Gap(first=2, last=1, at=made.clock.now())
    made.home.facts.commit(fact.with_body(before.replaced(done=EVERY, gaps=(gap,), passed=1)))
    retry_compaction(made.runtime, "mika", "s")
    made.work()
    assert (progress(made).gaps, progress(made).done) == ((), EVERY)
    assert made.provider.seen == []
    made.close()


def test_a_frozen_agent_makes_no_gap(tmp_path: Path) -> None:
    made, _ = house(tmp_path)
    grow(made, EVERY)
    made.home.switches.set("mika", frozen=True)
    for cause in "ab":
        given_up(made, cause)
    assert (progress(made).gaps, progress(made).done) == ((), 0)
    made.close()


def test_a_day_that_cannot_be_summarised_is_passed_over_too_and_tried_again(tmp_path: Path) -> None:
    made, _ = house(tmp_path)
    grow(made, EVERY)
    ask(made)
    made.work()
    script(made, Reply(""))
    made.clock.advance(90_000)
    given_up(made)
    (gap,) = shelf(made).gaps
    assert (gap.key, gap.parts) == ("2026-01-05", ("S1",))
    assert (shelf(made).passed, shelf(made).periods, shelf(made).failures) == (1, (), 0)
    script(made, TOLD)
    retry_compaction(made.runtime, "mika", "s")
    made.work()
    assert (shelf(made).gaps, shelf(made).passed) == ((), 0)
    assert [s.span for s in summaries(made)] == [SummarySpan.TOPIC, SummarySpan.DAY]
    made.close()


def test_gaps_are_told_of_where_the_memory_stands(tmp_path: Path) -> None:
    made, _ = house(tmp_path, Reply(""))
    made.runtime = replace(
        made.runtime, search=searching(made.home, made.clock, tmp_path / "search")
    )
    grow(made, EVERY)
    given_up(made)
    stands = memory_status(made.runtime.home, made.runtime.search, "mika")
    assert (stands.passed, stands.failing) == (1, 0)
    assert [(gap.first, gap.last) for gap in stands.sessions[0].gaps] == [(1, EVERY)]
    made.close()
