"""A capability whose calls somebody outside runs: registered, and the turn waits for it."""

from collections.abc import Sequence
from dataclasses import replace

from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.domain.access.impact import Impact
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.record import (
    TURN_ACTIONS,
    ActionCall,
    ApprovalDecision,
    ApprovalRequest,
    CallResult,
    CallState,
)
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.consequence import FollowUp, OutsideAnswer, TurnTrait
from opencrab.engine.queueing import enqueue_turn
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.work import Consequence, TurnWork
from opencrab.ports.turn.action import Action
from opencrab.ports.turn.schema_arguments import argument_class_of_turn_schema
from tests.crash.outside import Reply
from tests.e2e.house import House

NAME = "client__lighthouse"
GONE = "灯台に誰もいません🦀"


class Lighthouse(Consequence):
    """The keeper of a lighthouse answers one call at a time, or is gone."""

    def __init__(self, said: dict[str, str]) -> None:
        self.said, self.asked = said, list[str]()

    def turn_actions(self, runtime: Runtime, turn: Turn) -> tuple[Action, ...]:
        return (
            Action(
                name=NAME,
                group="lighthouse",
                impact=Impact.SPEECH,
                effect=Effect.PURE,
                arguments=argument_class_of_turn_schema('{"type": "object"}'),
                run=lambda _arguments, _context: ActionResult.failure("only the keeper can"),
                descriptions=dict.fromkeys(Language, "Ask the keeper"),
                sentences=dict.fromkeys(Language, "Ask the keeper"),
                outside=True,
            ),
        )

    def on_ask_outside(
        self, work: TurnWork, asked: ApprovalRequest, calls: Sequence[ActionCall]
    ) -> FollowUp | None:
        if work.turn.id not in self.said:
            return None
        self.asked.append(calls[0].id)
        return FollowUp()

    def outside_answer(self, work: TurnWork, call: ActionCall) -> OutsideAnswer | None:
        if call.id not in self.asked:
            return None
        decision = work.transcript.decision
        if decision is None:
            return OutsideAnswer()
        said = self.said[work.turn.id]
        if not decision.approved:
            return OutsideAnswer(ActionResult.failure("nobody is there"), GONE)
        return OutsideAnswer(ActionResult.ok(result=said))


def begin(house: House, *, calls: int = 1) -> tuple[Turn, Lighthouse]:
    """A turn that has called the keeper and waits."""
    keeper = Lighthouse({})
    found = CONSEQUENCES.followed_by(lambda: keeper, {TurnTrait.OUTSIDE})
    house.runtime = replace(house.runtime, consequences=found)
    replies = (Reply(calls=(("lighthouse", {}),) * calls), Reply(text="光っています"))
    house.session(house.agent("crab", replies))
    (turn,) = house.say("灯台は?", metadata={TURN_ACTIONS: "yes"})
    keeper.said[turn.id] = "on"
    house.work()
    assert house.turn(turn.id).status is TurnStatus.WAITING
    return turn, keeper


def decide(house: House, turn: Turn, *, approved: bool) -> None:
    records = house.home.journal.load(turn.id).records
    asked = [each for each in records if isinstance(each, ApprovalRequest)][-1]
    assert asked.wants_result
    told = asked.model_dump(include={"n", "call_id", "argument_hash"})
    decision = ApprovalDecision(**told, approved=approved, by="keeper")
    enqueue_turn(house.home, house.home.journal.decide(turn.id, decision), again=f"-{asked.n}")
    house.work()


def states(house: House, turn: Turn) -> list[CallState]:
    records = house.home.journal.load(turn.id).records
    return [each.state for each in records if isinstance(each, CallResult)]


def test_its_turn_waits_for_each_call_and_goes_on_with_the_result(house: House) -> None:
    turn, keeper = begin(house, calls=2)
    decide(house, turn, approved=True)
    assert house.turn(turn.id).status is TurnStatus.WAITING
    decide(house, turn, approved=True)
    found = house.turn(turn.id)
    assert (found.status, found.taint) == (TurnStatus.COMPLETED, True)
    assert states(house, turn) == [CallState.COMPLETED] * 2
    assert len(keeper.asked) == 2
    assert house.lines()[-1].text == "光っています"


def test_its_turn_ends_with_its_notice_when_no_result_will_come(house: House) -> None:
    turn, _ = begin(house)
    decide(house, turn, approved=False)
    assert house.turn(turn.id).status is TurnStatus.STOPPED
    assert states(house, turn) == [CallState.CANCELLED]
    assert house.lines()[-1].text == GONE
