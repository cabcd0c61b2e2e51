"""Days and months are told of from their parts, and what was changed meanwhile is not kept."""

from datetime import timedelta
from pathlib import Path

from opencrab.domain.conversation.session import Hearing
from opencrab.domain.erasure.request import FORGOTTEN_PERSON
from opencrab.domain.memory.summary import SummarySpan
from tests.unit.engine.compacting import EVERY, ask, grow, house, progress, shelf, summaries


def test_a_day_that_has_passed_is_told_of_its_topics_and_a_month_of_its_days(
    tmp_path: Path,
) -> None:
    made, _ = house(tmp_path)
    grow(made, EVERY * 2)
    ask(made)
    made.work()
    made.clock.advance(timedelta(days=1).total_seconds())
    grow(made, EVERY)
    ask(made, "2")
    made.work()
    *_, third, day = summaries(made)
    assert (third.span, day.span, day.parts) == (SummarySpan.TOPIC, SummarySpan.DAY, ("S1", "S2"))
    assert [source.last for source in day.sources] == [EVERY, EVERY * 2]
    assert (day.session_id, day.hearing) == ("s", Hearing.SESSION)
    made.clock.advance(timedelta(days=31).total_seconds())
    ask(made, "3")
    made.work()
    *_, second_day, month = summaries(made)
    assert (second_day.span, second_day.parts) == (SummarySpan.DAY, ("S3",))
    assert (month.span, month.parts) == (SummarySpan.MONTH, (day.id, second_day.id))
    assert shelf(made).periods == ()
    made.close()


def test_a_day_in_several_sessions_may_be_heard_by_the_agent_only(tmp_path: Path) -> None:
    made, agent = house(tmp_path)
    other = made.home.sessions.get("s").replaced(id="s2")
    made.home.sessions.create(other)
    for session_id in ("s", "s2"):
        grow(made, EVERY, session_id=session_id)
        ask(made, session_id=session_id)
    made.work()
    made.clock.advance(timedelta(days=1).total_seconds())
    ask(made, "2")
    made.work()
    day = summaries(made)[-1]
    assert (day.span, day.parts) == (SummarySpan.DAY, ("S1", "S2"))
    assert (day.hearing, day.session_id) == (Hearing.PRIVATE, "")
    assert agent.id == "mika"
    made.close()


def test_a_period_whose_summaries_are_all_forgotten_is_forgotten_too(tmp_path: Path) -> None:
    made, _ = house(tmp_path)
    grow(made, EVERY)
    ask(made)
    made.work()
    (fact,) = made.home.facts.page("mika", "summary")
    made.home.facts.commit(fact.removed())
    made.clock.advance(timedelta(days=1).total_seconds())
    ask(made, "2")
    made.work()
    assert summaries(made) == []
    assert shelf(made).periods == ()
    assert shelf(made).last == 1
    made.close()


def test_what_was_changed_while_the_model_wrote_is_not_kept(tmp_path: Path) -> None:
    made, _ = house(tmp_path)
    grow(made, EVERY)

    def forget() -> None:
        (line,) = made.home.journal.lines("s", limit=1)
        gone = line.replaced(text="", speaker_id=FORGOTTEN_PERSON, speaker_name="")
        with made.home.journal._database.write_transaction() as items:  # type: ignore[attr-defined]
            items.put("SESSION#s", "L#0000000001", gone.model_dump_json())

    made.interrupt(forget)
    ask(made)
    made.work()
    assert summaries(made) == []
    assert "changed concurrently" in progress(made).error
    made.close()
