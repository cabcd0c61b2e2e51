"""Journal: what reaches a turn from outside: switches, instructions, stops and decisions."""

import pytest

from opencrab.domain.conversation.message import Audience, Instruction, Line, LineKind
from opencrab.domain.errors import Changed, Conflict, NotFound, Stopped
from opencrab.domain.turn.interrupt import Interrupt
from opencrab.domain.turn.record import ApprovalDecision
from opencrab.domain.turn.turn import Stop, Turn, TurnStatus
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import TurnChange
from tests.contract.example import (
    ENGLISH,
    JAPANESE,
    NOW,
    admission,
    admitted,
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
    wish,
)
from tests.contract.waiting import at_once


def instruct(
    home: Home, instruction_id: str, text: str = JAPANESE, session_id: str = "s1"
) -> Instruction:
    said = Instruction(id=instruction_id, session_id=session_id, text=text, by="owner", at=NOW)
    return home.journal.instruct(said, instruction_line(instruction_id, text, session_id))


def instruction_line(group: str, text: str, session_id: str) -> Line:
    return line(text, session_id, group=group, kind=LineKind.SYSTEM, audience=Audience.AGENTS)


def waiting(home: Home, argument_hash: str = "arguments") -> Turn:
    asked = request(1, "c1", argument_hash)
    return home.journal.commit(step(running(home), asked, status=TurnStatus.WAITING))


def decision(n: int = 1, call_id: str = "c1", argument_hash: str = "arguments") -> ApprovalDecision:
    return ApprovalDecision(
        n=n, call_id=call_id, argument_hash=argument_hash, approved=True, by="owner", reason="良い"
    )


def claimed(home: Home) -> Turn:
    found = home.journal.claim("t1", lease_until=later(120), receipt=None)
    assert found is not None
    return found.turn


def held_back(paused: Turn) -> TurnChange:
    """A paused turn waits: nothing was done, so that no record has its number."""
    return TurnChange(turn=paused.replaced(status=TurnStatus.WAITING), expected=paused.sequence)


def test_a_boundary_of_a_quiet_session_is_empty(home: Home) -> None:
    found = home.journal.read_step_state(running(home))
    assert (found.frozen, found.instructions) == (None, ())


@pytest.mark.parametrize("scope", ["hana", "installation"])
def test_a_boundary_tells_what_is_frozen(home: Home, scope: str) -> None:
    current = running(home)
    home.switches.set(scope, frozen=True)
    assert home.journal.read_step_state(current).frozen == scope
    home.switches.set(scope, frozen=False)
    assert home.journal.read_step_state(current).frozen is None


def test_a_frozen_neighbour_is_no_boundary(home: Home) -> None:
    current = running(home)
    home.switches.set("ken", frozen=True)
    assert home.journal.read_step_state(current).frozen is None


def test_a_boundary_holds_the_instructions_since_the_trigger(home: Home) -> None:
    home.sessions.create(session())
    instruct(home, "before")
    (current,) = home.journal.admit(admission())
    placed = (instruct(home, "i1", JAPANESE), instruct(home, "i2", ENGLISH))
    found = home.journal.read_step_state(current).instructions
    assert found == placed
    assert [one.line for one in found] == [3, 4]
    assert [one.text for one in found] == [JAPANESE, ENGLISH]


def test_instructions_of_another_session_are_not_heard(home: Home) -> None:
    current = running(home)
    home.sessions.create(session("other"))
    instruct(home, "i1", session_id="other")
    assert home.journal.read_step_state(current).instructions == ()


def test_an_instruction_is_put_once_by_its_id(home: Home) -> None:
    current = running(home)
    first = instruct(home, "i1")
    assert instruct(home, "i1") == first
    assert first.line == 2
    assert home.journal.read_step_state(current).instructions == (first,)
    stored = home.journal.lines("s1", after=1)
    assert [(one.text, one.audience, one.group_line) for one in stored] == [
        (JAPANESE, Audience.AGENTS, 2)
    ]


def test_an_instruction_given_eight_times_at_once_is_one_line(home: Home) -> None:
    running(home)
    answers = at_once(8, lambda _: instruct(home, "i1"))
    assert all(answer == answers[0] for answer in answers)
    assert len(home.journal.lines("s1")) == 2


def test_an_instruction_to_no_session_or_an_ended_one_is_refused(home: Home) -> None:
    with pytest.raises(NotFound):
        instruct(home, "i1")
    home.sessions.create(session())
    home.sessions.end("s1", NOW)
    with pytest.raises(Conflict):
        instruct(home, "i1")
    assert home.journal.lines("s1") == ()


def test_a_stop_is_kept_and_the_turn_still_runs(home: Home) -> None:
    current = running(home)
    stopped = home.journal.stop("t1", wish())
    assert (stopped.stop, stopped.status) == (wish(), TurnStatus.RUNNING)
    assert home.journal.load("t1").turn == current.replaced(stop=wish())


def test_the_first_wish_to_stop_stays(home: Home) -> None:
    running(home)
    home.journal.stop("t1", wish("owner"))
    assert home.journal.stop("t1", wish("someone", reason="too")).stop == wish("owner")


def test_a_stop_without_a_reason_lets_its_turn_close(home: Home) -> None:
    running(home)
    stopped = home.journal.stop("t1", Stop(by="hana", at=NOW))
    closed = home.journal.commit(ending(stopped, TurnStatus.STOPPED))
    assert (closed.status, closed.stop) == (TurnStatus.STOPPED, Stop(by="hana", at=NOW))
    assert home.journal.header("t1") == closed


def test_a_stop_before_the_first_claim_is_seen_by_it(home: Home) -> None:
    admitted(home)
    assert home.journal.stop("t1", wish()).status is TurnStatus.QUEUED
    claimed = home.journal.claim("t1", lease_until=later(9), receipt=None)
    assert claimed is not None
    with pytest.raises(Stopped):
        home.journal.commit(step(claimed.turn, intent(), unless_stopped=True))


def test_a_waiting_turn_that_is_stopped_is_queued_to_close(home: Home) -> None:
    waiting(home)
    stopped = home.journal.stop("t1", wish())
    assert (stopped.status, stopped.stop) == (TurnStatus.QUEUED, wish())
    assert home.journal.claim("t1", lease_until=later(9), receipt=None) is not None


def test_an_ended_turn_is_not_stopped(home: Home) -> None:
    ended = home.journal.commit(ending(running(home)))
    assert home.journal.stop("t1", wish()) == ended
    assert home.journal.load("t1").turn.stop is None


def test_an_unknown_turn_is_neither_stopped_nor_decided(home: Home) -> None:
    with pytest.raises(NotFound):
        home.journal.stop("nobody", wish())
    with pytest.raises(NotFound):
        home.journal.decide("nobody", decision())


def test_a_pause_is_kept_and_taken_back(home: Home) -> None:
    current = running(home)
    paused = home.journal.stop("t1", hold())
    assert paused == home.journal.header("t1") == current.replaced(stop=hold())
    assert home.journal.stop("t1", hold("someone")) == paused
    assert home.journal.resume("t1") == home.journal.header("t1") == current
    assert home.journal.resume("t1") == current


def test_a_stop_replaces_a_pause_and_stays(home: Home) -> None:
    running(home)
    home.journal.stop("t1", hold())
    stopped = home.journal.stop("t1", wish())
    assert stopped.stop == wish()
    assert home.journal.stop("t1", hold("someone")) == stopped
    assert home.journal.resume("t1") == home.journal.header("t1") == stopped


@pytest.mark.parametrize("interrupt", [Interrupt.AFTER_STEP, Interrupt.AT_ONCE])
def test_a_takeover_ends_a_running_turn_and_refuses_its_next_intent(
    home: Home, interrupt: Interrupt
) -> None:
    current = running(home)
    taken = home.journal.stop("t1", Stop.for_next_message(interrupt, NOW))
    assert taken == home.journal.header("t1")
    assert taken.stop is not None
    assert taken.stop.is_takeover
    with pytest.raises(Stopped):
        home.journal.commit(step(current, intent(), unless_stopped=True))
    closed = home.journal.commit(ending(taken, TurnStatus.STOPPED))
    assert closed.status is TurnStatus.STOPPED


def test_a_takeover_leaves_a_turn_that_does_not_run(home: Home) -> None:
    queued = admitted(home)
    takeover = Stop.for_next_message(Interrupt.AT_ONCE, NOW)
    assert home.journal.stop("t1", takeover) == queued
    waits = home.journal.commit(
        step(claimed(home), request(1, "c1", "arguments"), status=TurnStatus.WAITING)
    )
    assert home.journal.stop("t1", takeover) == waits == home.journal.header("t1")


def test_a_stop_and_a_pause_replace_a_takeover_and_at_once_replaces_after_step(home: Home) -> None:
    running(home)
    for wanted in (
        Stop.for_next_message(Interrupt.AFTER_STEP, NOW),
        Stop.for_next_message(Interrupt.AT_ONCE, NOW),
        hold(),
        wish(),
    ):
        assert home.journal.stop("t1", wanted).stop == wanted
    stays = home.journal.stop("t1", Stop.for_next_message(Interrupt.AT_ONCE, NOW))
    assert stays.stop == wish()


def test_a_paused_turn_waits_until_it_is_resumed(home: Home) -> None:
    running(home)
    paused = home.journal.stop("t1", hold())
    held = home.journal.commit(held_back(paused))
    assert (held.status, held.stop) == (TurnStatus.WAITING, hold())
    assert home.journal.claim("t1", lease_until=later(9), receipt=None) is None
    resumed = home.journal.resume("t1")
    assert resumed == home.journal.header("t1")
    assert (resumed.status, resumed.stop) == (TurnStatus.QUEUED, None)
    assert home.journal.claim("t1", lease_until=later(9), receipt=None) is not None


def test_a_paused_turn_that_waits_is_queued_by_a_stop(home: Home) -> None:
    running(home)
    home.journal.commit(held_back(home.journal.stop("t1", hold())))
    stopped = home.journal.stop("t1", wish())
    assert (stopped.status, stopped.stop) == (TurnStatus.QUEUED, wish())


def test_a_pause_leaves_a_waiting_turn_as_it_is(home: Home) -> None:
    before = waiting(home)
    assert home.journal.stop("t1", hold()) == before.replaced(stop=hold())
    decided = home.journal.decide("t1", decision())
    assert (decided.status, decided.stop) == (TurnStatus.QUEUED, hold())
    assert home.journal.resume("t1").status is TurnStatus.QUEUED


def test_an_ended_or_an_unknown_turn_is_not_resumed(home: Home) -> None:
    running(home)
    ended = home.journal.commit(ending(home.journal.stop("t1", hold())))
    assert ended.stop == hold()
    assert home.journal.resume("t1") == home.journal.stop("t1", wish()) == ended
    with pytest.raises(NotFound):
        home.journal.resume("nobody")


def test_of_pauses_resumes_and_a_stop_at_once_the_stop_stays(home: Home) -> None:
    running(home)

    def meddle(number: int) -> None:
        if number == 5:
            home.journal.stop("t1", wish())
        elif number % 2:
            home.journal.resume("t1")
        else:
            home.journal.stop("t1", hold())

    at_once(8, meddle)
    assert home.journal.header("t1").stop == wish()


def test_a_decision_is_written_together_with_its_facts(home: Home) -> None:
    waiting(home)
    home.facts.commit(fact("open"))
    home.journal.decide("t1", decision(), fact("open").removed(), fact("decided"))
    assert home.facts.page("hana", "note") == (fact("decided"),)
    assert decision() in home.journal.load("t1").records


def test_a_decision_whose_facts_moved_on_is_not_made(home: Home) -> None:
    before = waiting(home)
    home.facts.commit(fact("open"))
    with pytest.raises(Changed, match="'open'"):
        home.journal.decide("t1", decision(), fact("decided"), fact("open"))
    assert home.journal.load("t1").turn == before
    assert home.facts.page("hana", "note") == (fact("open"),)
    with pytest.raises(Conflict, match="is not waiting"):
        home.journal.decide("t1", decision(n=2), fact("open"))


def test_a_decision_is_recorded_and_queues_the_turn(home: Home) -> None:
    waiting(home)
    assert home.journal.decide("t1", decision()).status is TurnStatus.QUEUED
    stored = home.journal.load("t1")
    assert stored.records == (request(), decision())
    claimed = home.journal.claim("t1", lease_until=later(9), receipt=None)
    assert claimed is not None
    assert claimed.records == stored.records


@pytest.mark.parametrize(
    "wrong",
    [decision(n=2), decision(call_id="c2"), decision(argument_hash="other arguments")],
    ids=["number", "call", "arguments"],
)
def test_a_decision_binds_to_exactly_the_call_that_waits(
    home: Home, wrong: ApprovalDecision
) -> None:
    before = waiting(home)
    with pytest.raises(Conflict):
        home.journal.decide("t1", wrong)
    stored = home.journal.load("t1")
    assert (stored.turn, stored.records) == (before, (request(),))


def test_only_the_newest_request_can_be_decided(home: Home) -> None:
    waiting(home)
    home.journal.decide("t1", decision())
    claimed = home.journal.claim("t1", lease_until=later(9), receipt=None)
    assert claimed is not None
    asked = request(2, "c2", "hash of 二")
    home.journal.commit(step(claimed.turn, asked, status=TurnStatus.WAITING))
    with pytest.raises(Conflict):
        home.journal.decide("t1", decision())
    home.journal.decide("t1", decision(2, "c2", "hash of 二"))


def test_a_call_is_decided_once(home: Home) -> None:
    waiting(home)
    home.journal.decide("t1", decision())
    with pytest.raises(Conflict):
        home.journal.decide("t1", decision().replaced(approved=False))
    assert decision() in home.journal.load("t1").records


def test_a_turn_that_waits_for_nothing_is_not_decided(home: Home) -> None:
    home.journal.commit(step(running(home), result()))
    with pytest.raises(Conflict):
        home.journal.decide("t1", decision())


def test_a_stopped_turn_is_no_longer_decided(home: Home) -> None:
    waiting(home)
    home.journal.stop("t1", wish())
    with pytest.raises(Conflict):
        home.journal.decide("t1", decision())


def test_of_eight_decisions_at_once_one_holds(home: Home) -> None:
    waiting(home)

    def decide(number: int) -> bool:
        try:
            home.journal.decide("t1", decision().replaced(by=f"owner{number}"))
        except Conflict:
            return False
        return True

    assert at_once(8, decide).count(True) == 1
    assert len(home.journal.load("t1").records) == 2


def test_a_trigger_line_of_a_later_turn_hides_earlier_instructions(home: Home) -> None:
    home.sessions.create(session())
    home.journal.admit(admission())
    instruct(home, "i1")
    (second,) = home.journal.admit(admission(turn("t2"), message_id="m2"))
    assert home.journal.read_step_state(second).instructions == ()
