"""Journal: a step of a turn is committed whole by the worker that holds it, or not at all."""

from collections.abc import Callable
from typing import Any

import pytest

from opencrab.domain.conversation.message import Utterance
from opencrab.domain.conversation.session import Mode, Phase, SessionChange, SessionStatus
from opencrab.domain.errors import (
    Changed,
    Exhausted,
    NotFound,
    OpenCrabError,
    Stopped,
    Superseded,
)
from opencrab.domain.money.budget import BudgetDraw
from opencrab.domain.turn.turn import Block, Turn, TurnStatus
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import TurnChange
from tests.contract.example import (
    CHANNEL,
    DAY,
    ENGLISH,
    JAPANESE,
    NOW,
    admission,
    due_item,
    ending,
    fact,
    hold,
    intent,
    later,
    line,
    request,
    result,
    running,
    session,
    step,
    turn,
    usage_row,
    utterance,
    wish,
)
from tests.contract.following import told
from tests.contract.waiting import at_once, eventually


def reclaimed(home: Home) -> Turn:
    claimed = home.journal.claim("t1", lease_until=later(240), receipt=None)
    assert claimed is not None
    return claimed.turn


def drawing(amount: int, limit: int | None = 100) -> BudgetDraw:
    return BudgetDraw(scope="agent:hana", day=DAY, micro_usd=amount, limit_micro_usd=limit)


def everything(current: Turn, **changes: Any) -> TurnChange:
    """A change with something of every kind in it."""
    parts: dict[str, Any] = {
        "lines": (line("答えです", turn_id="t1", group_line=1), line(ENGLISH, turn_id="t1")),
        "utterances": (utterance(1, JAPANESE), utterance(2, ENGLISH)),
        "due": (due_item("d1", text=JAPANESE), due_item("d2", seconds=61)),
        "facts": (fact("a", JAPANESE), fact("b", ENGLISH, version=0)),
        "draws": (drawing(40), drawing(40).replaced(scope="installation")),
        "usage": (usage_row(1), usage_row(2)),
        "session": SessionChange(agent_id="hana", spoke_at=NOW),
        "at": NOW,
    }
    return step(current, result(), **(parts | changes))


def said(home: Home, ordinal: int) -> Utterance | None:
    try:
        return home.outbox.get(CHANNEL.target, utterance(ordinal).key)
    except NotFound:
        return None


def visible(home: Home) -> dict[str, object]:
    """All that a change may have changed."""
    return {
        "turn": home.journal.load("t1"),
        "lines": home.journal.lines("s1"),
        "session": home.sessions.get("s1"),
        "outbox": [said(home, ordinal) for ordinal in (1, 2)],
        "agent day": home.budgets.drawn_micro_usd("agent:hana", DAY),
        "installation day": home.budgets.drawn_micro_usd("installation", DAY),
        "usage": home.usage.rows("hana"),
        "facts": home.facts.page("hana", "note"),
        "feed": len(told(home)),
    }


def test_a_change_is_visible_whole(home: Home) -> None:
    current = running(home)
    stored = home.journal.commit(everything(current))
    loaded = home.journal.load("t1")
    assert (loaded.turn, loaded.records) == (stored, (result(),))
    assert (stored.sequence, stored.epoch) == (2, 1)
    lines = home.journal.lines("s1", after=1)
    assert [(one.text, one.sequence, one.group_line) for one in lines] == [
        ("答えです", 2, 1),
        (ENGLISH, 3, 3),
    ]
    assert home.outbox.get(CHANNEL.target, "t1#0001") == utterance(1, JAPANESE)
    assert home.outbox.get(CHANNEL.target, "t1#0002") == utterance(2, ENGLISH)
    eventually(
        lambda: home.due.list_due(later(99), 9),
        (due_item("d1", text=JAPANESE), due_item("d2", seconds=61)),
    )
    assert home.facts.page("hana", "note") == (fact("a", JAPANESE), fact("b", ENGLISH))
    assert home.budgets.drawn_micro_usd("agent:hana", DAY) == 40
    assert home.usage.rows("hana") == (usage_row(2), usage_row(1))
    assert home.sessions.get("s1").turn_number == 1


@pytest.mark.parametrize("scopes", [None, (), ("session:s1", "public:太郎")])
def test_a_header_keeps_where_its_money_comes_from(
    home: Home, scopes: tuple[str, ...] | None
) -> None:
    blocks = (Block(day=DAY, micro_usd=5), Block(day="2026-02-18", micro_usd=6))
    current = running(home).replaced(blocks=blocks, scopes=scopes, allowance=11)
    stored = home.journal.commit(step(current))
    assert (stored.blocks, stored.scopes) == (blocks, scopes)
    assert home.journal.header("t1") == stored


def test_an_intent_and_its_result_share_a_number(home: Home) -> None:
    started = home.journal.commit(step(running(home), intent(1)))
    home.journal.commit(step(started, result(1)))
    assert home.journal.load("t1").records == (intent(1), result(1))


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH, "「 改行\n\t引用 」\u2028 é e\u0301 🦀"])
def test_records_come_back_as_they_were_written(home: Home, text: str) -> None:
    home.journal.commit(step(running(home), result(text=text)))
    assert home.journal.load("t1").records == (result(text=text),)


def stale_epoch(home: Home, current: Turn) -> TurnChange:
    reclaimed(home)
    return everything(current)


def stale_sequence(home: Home, current: Turn) -> TurnChange:
    home.journal.commit(step(current, result(7)))
    return everything(current)


def record_again(home: Home, current: Turn) -> TurnChange:
    return everything(home.journal.commit(step(current, result())))


def utterance_again(home: Home, current: Turn) -> TurnChange:
    spoken = home.journal.commit(step(current, result(7), utterances=(utterance(2),)))
    return everything(spoken)


def usage_again(home: Home, current: Turn) -> TurnChange:
    counted = home.journal.commit(step(current, result(7), usage=(usage_row(2, cost=1),)))
    return everything(counted)


def after_its_end(home: Home, current: Turn) -> TurnChange:
    return everything(home.journal.commit(ending(current)))


def while_it_waits(home: Home, current: Turn) -> TurnChange:
    return everything(home.journal.commit(step(current, request(7), status=TurnStatus.WAITING)))


def once_stopped(home: Home, current: Turn) -> TurnChange:
    home.journal.stop("t1", wish())
    return everything(current, unless_stopped=True)


def once_paused(home: Home, current: Turn) -> TurnChange:
    home.journal.stop("t1", hold())
    return everything(current, unless_stopped=True)


def fact_is_there(home: Home, current: Turn) -> TurnChange:
    home.facts.commit(fact("a", ENGLISH))
    return everything(current)


def fact_is_gone(home: Home, current: Turn) -> TurnChange:
    return everything(current, facts=(fact("b"), fact("a", version=2)))


def fact_to_remove_moved_on(home: Home, current: Turn) -> TurnChange:
    home.facts.commit(fact())
    home.facts.commit(fact(version=2))
    return everything(current, facts=(fact("b"), fact().removed()))


def fact_moved_on_in_a_session_that_did_too(home: Home, current: Turn) -> TurnChange:
    home.facts.commit(fact())
    home.journal.admit(admission(turn("t2"), message_id="m2"))
    return everything(current)


def pause_taken_back(home: Home, current: Turn) -> TurnChange:
    paused = home.journal.stop("t1", hold())
    home.journal.resume("t1")
    return everything(paused, status=TurnStatus.WAITING)


def pause_became_a_stop(home: Home, current: Turn) -> TurnChange:
    paused = home.journal.stop("t1", hold())
    home.journal.stop("t1", wish())
    return everything(paused, status=TurnStatus.WAITING)


def pause_became_another(home: Home, current: Turn) -> TurnChange:
    paused = home.journal.stop("t1", hold("owner"))
    home.journal.resume("t1")
    home.journal.stop("t1", hold("someone"))
    return everything(paused, status=TurnStatus.WAITING)


def beyond_the_budget(home: Home, current: Turn) -> TurnChange:
    dear = drawing(101).replaced(scope="installation")
    return everything(current, draws=(drawing(40), dear))


REFUSALS = [
    (stale_epoch, Superseded),
    (stale_sequence, Superseded),
    (record_again, Superseded),
    (utterance_again, Superseded),
    (usage_again, Superseded),
    (after_its_end, Superseded),
    (while_it_waits, Superseded),
    (once_stopped, Stopped),
    (once_paused, Stopped),
    (pause_taken_back, Stopped),
    (pause_became_a_stop, Stopped),
    (pause_became_another, Stopped),
    (fact_is_there, Changed),
    (fact_is_gone, Changed),
    (fact_to_remove_moved_on, Changed),
    (fact_moved_on_in_a_session_that_did_too, Changed),
    (beyond_the_budget, Exhausted),
]


@pytest.mark.parametrize(("spoil", "error"), REFUSALS, ids=lambda part: part.__name__)
def test_nothing_of_a_refused_change_is_visible(
    home: Home, spoil: Callable[[Home, Turn], TurnChange], error: type[OpenCrabError]
) -> None:
    change = spoil(home, running(home))
    before = visible(home)
    with pytest.raises(error):
        home.journal.commit(change)
    assert visible(home) == before
    eventually(lambda: home.due.list_due(later(1_000), 10), ())


def test_a_change_of_an_unknown_turn_is_not_found(home: Home) -> None:
    home.sessions.create(session())
    with pytest.raises(NotFound):
        home.journal.commit(step(turn("nobody", status=TurnStatus.RUNNING, epoch=1)))


def test_a_stop_refuses_intents_only(home: Home) -> None:
    current = running(home)
    home.journal.stop("t1", wish())
    stored = home.journal.commit(step(current, result()))
    with pytest.raises(Stopped, match="owner"):
        home.journal.commit(step(stored, intent(2), unless_stopped=True))
    assert home.journal.load("t1").records == (result(),)


def test_a_worker_that_knows_of_no_stop_does_not_erase_it(home: Home) -> None:
    current = running(home)
    home.journal.stop("t1", wish())
    assert current.stop is None
    stored = home.journal.commit(step(current, result()))
    assert (stored.stop, home.journal.load("t1").turn.stop) == (wish(), wish())


def test_only_a_stop_from_outside_stops_a_turn(home: Home) -> None:
    current = running(home)
    stored = home.journal.commit(step(current.replaced(stop=wish())))
    assert (stored.stop, home.journal.load("t1").turn.stop) == (None, None)


def test_a_stop_between_two_commits_leaves_the_sequence_alone(home: Home) -> None:
    current = home.journal.commit(step(running(home), intent()))
    home.journal.stop("t1", wish())
    assert home.journal.commit(step(current, result())).sequence == 3


def test_an_ended_turn_keeps_its_records_to_be_read(home: Home) -> None:
    current = home.journal.commit(step(running(home), result()))
    ended = home.journal.commit(ending(current, TurnStatus.EXHAUSTED))
    loaded = home.journal.load("t1")
    assert (loaded.turn, loaded.records) == (ended, (result(),))
    assert (ended.status, ended.ended_at) == (TurnStatus.EXHAUSTED, NOW)


def test_of_two_steps_at_once_one_holds(home: Home) -> None:
    current = running(home)

    def write(number: int) -> bool:
        try:
            home.journal.commit(step(current, result(text=f"{number}番")))
        except Superseded:
            return False
        return True

    assert at_once(8, write).count(True) == 1
    assert len(home.journal.load("t1").records) == 1


def test_a_session_change_is_applied_to_the_newest_session(home: Home) -> None:
    home.sessions.create(session("s1", "hana", "ken"))
    home.journal.admit(admission(turn("t1"), turn("t2", agent_id="ken")))
    for turn_id, agent_id in (("t1", "hana"), ("t2", "ken")):
        claimed = home.journal.claim(turn_id, lease_until=later(9), receipt=None)
        assert claimed is not None
        told = SessionChange(agent_id=agent_id, spoke_at=later(5), declared_done=agent_id == "hana")
        home.journal.commit(ending(claimed.turn, session=told))
    stored = home.sessions.get("s1")
    assert (stored.turn_number, stored.done_count, stored.updated_at) == (2, 1, NOW)
    assert [one.last_speech_at for one in stored.participants] == [later(5), later(5)]
    assert [one.done_declared for one in stored.participants] == [True, False]
    assert stored.status is SessionStatus.ACTIVE


def test_turns_of_one_session_that_close_at_once_are_all_counted(home: Home) -> None:
    names = [f"agent{number}" for number in range(8)]
    home.sessions.create(session("s1", *names).replaced(mode=Mode.AUTONOMOUS, hop_limit=9))
    home.journal.admit(admission(*(turn(f"t_{name}", agent_id=name) for name in names)))

    def close(number: int) -> None:
        claimed = home.journal.claim(f"t_agent{number}", lease_until=later(9), receipt=None)
        assert claimed is not None
        told = SessionChange(agent_id=names[number], declared_done=True)
        said = line(f"{number}番", turn_id=claimed.turn.id, group_line=1)
        home.journal.commit(ending(claimed.turn, session=told, lines=(said,)))

    at_once(8, close)
    stored = home.sessions.get("s1")
    assert (stored.turn_number, stored.done_count) == (8, 8)
    assert (stored.status, stored.phase) == (SessionStatus.ENDED, Phase.CONCLUDED)
    assert [one.sequence for one in home.journal.lines("s1")] == list(range(1, 10))


def test_a_session_that_was_ended_meanwhile_stays_ended(home: Home) -> None:
    current = running(home)
    home.sessions.end("s1", NOW)
    home.journal.commit(ending(current, session=SessionChange(agent_id="hana", spoke_at=NOW)))
    stored = home.sessions.get("s1")
    assert (stored.status, stored.turn_number) == (SessionStatus.ENDED, 1)
