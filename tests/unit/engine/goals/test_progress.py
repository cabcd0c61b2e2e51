"""Progress: one value for every view, made of a goal and of the turn that works on it now."""

from datetime import timedelta
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.goals.goal import Goal, PlannedTask, TaskStatus, with_plan
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.record import (
    ActionCall,
    ActionIntent,
    ApprovalDecision,
    ApprovalRequest,
    CallResult,
    CallState,
    ModelAnswer,
    ModelIntent,
    ModelResult,
    Record,
    Reflection,
)
from opencrab.domain.turn.turn import Stop, TurnStatus
from opencrab.engine.goals import instructions
from opencrab.engine.goals.instructions import InstructionGiver, NewInstruction
from opencrab.engine.goals.pausing import require_goal_document
from opencrab.engine.goals.progress import (
    ActionStatus,
    Progress,
    Standing,
    goal_progress,
    goal_summary,
)
from opencrab.engine.turn.work import TurnWork
from tests.unit.engine.known_world import NOW, World

ASKER = InstructionGiver("owner", "太郎", Source.REST, Authority.OWNER)
TOLD = {
    "mika": (
        "「n.md」を書く (ws_write)",
        "「…」を書く (ws_write)",
        "次にすることを考えています",
    ),
    "ken": ("Write n.md (ws_write)", "Write … (ws_write)", "Thinking about what to do next"),
}
WRITE = ActionCall(id="c1_0", name="ws_write", arguments={"path": "n.md", "content": "秘密"})
LIST = ActionCall(id="c1_1", name="ws_list", arguments={})


def given(world: World, agent_id: str = "ken", key: str = "k") -> Goal:
    asked = NewInstruction(instruction="ノートを整理して\nplease")
    return instructions.start_instruction_as_goal(world.runtime, agent_id, asked, ASKER, key=key)


def begun(world: World, goal: Goal) -> TurnWork:
    assert goal.turn_id is not None
    return world.work(world.runtime.home.journal.header(goal.turn_id))


def asked(work: TurnWork, n: int = 1) -> None:
    """A model call has begun."""
    intent = ModelIntent(n=n, model="m", request_hash="h", reserved=0)
    work.save(work.turn.replaced(attempts=work.turn.attempts + 1), intent)


def answered(work: TurnWork, *calls: ActionCall, **words: Any) -> None:
    """A model call has ended with these calls."""
    asked(work, work.next_n)
    answer = ModelAnswer(calls=calls, **words)
    state = CallState.COMPLETED
    work.save(work.turn, ModelResult(n=work.next_n - 1, state=state, answer=answer, at=NOW))


def ended(
    call: ActionCall, n: int, state: CallState = CallState.COMPLETED, **more: Any
) -> CallResult:
    done = state is CallState.COMPLETED
    result = ActionResult.ok(size=3) if done else ActionResult.failure("no such\nfile")
    fields: dict[str, Any] = {"call_id": call.id, "name": call.name, "result": result} | more
    return CallResult(n=n, state=state, **fields)


def shown(world: World, goal: Goal, *, private: bool = True) -> Progress:
    stored = require_goal_document(world.runtime.home.facts, goal.agent_id, goal.id).read(Goal)
    told = goal_progress(world.runtime, stored, private=private)
    assert goal_summary(world.runtime.home.journal, stored).status is told.status
    return told


def test_a_new_goal_shows_what_was_said_and_nothing_done(world: World) -> None:
    told = shown(world, given(world))
    assert (told.id, told.name, told.status) == ("G1", "ノートを整理して", Standing.ACTIVE)
    assert told.instruction == "ノートを整理して\nplease"
    assert (told.completion, told.tasks, told.actions, told.current) == (0, (), (), None)
    assert (told.step, told.max_steps, told.over) == (0, 10, False)


def test_a_goal_behind_another_one_is_in_line(world: World) -> None:
    given(world)
    assert shown(world, given(world, key="second")).status is Standing.PENDING


@pytest.mark.parametrize("agent_id", TOLD)
def test_thinking_is_what_happens_while_the_model_is_asked(world: World, agent_id: str) -> None:
    goal = given(world, agent_id)
    asked(begun(world, goal))
    told = shown(world, goal)
    assert told.current is not None
    assert (told.current.sentence, told.current.mark) == (TOLD[agent_id][2], ActionStatus.RUNNING)
    assert told.step == 1


@pytest.mark.parametrize("agent_id", TOLD)
def test_actions_are_told_in_the_agents_language_with_their_marks(
    world: World, agent_id: str
) -> None:
    goal = given(world, agent_id)
    work = begun(world, goal)
    answered(work, WRITE, LIST, text="まず書く", thought=Reflection(judgment="急ぐ", intent="書く"))
    first, second = shown(world, goal).actions
    assert (first.sentence, first.mark) == (TOLD[agent_id][0], ActionStatus.RUNNING)
    assert second.mark is ActionStatus.PENDING
    intent = ActionIntent(
        n=3,
        call_id=WRITE.id,
        name=WRITE.name,
        effect=Effect.KEYED,
        argument_hash=WRITE.argument_hash,
        at=NOW + timedelta(seconds=2),
    )
    work.save(work.turn, intent)
    work.save(work.turn, ended(WRITE, 3, at=NOW + timedelta(seconds=3.5)))
    told = shown(world, goal)
    done, running = told.actions
    assert (done.mark, done.seconds, done.result) == (ActionStatus.DONE, 1.5, '{"size": 3}')
    assert done.arguments == '{"path": "n.md", "content": "秘密"}'
    assert told.current == running
    assert told.thinking == "急ぐ\n書く\nまず書く"
    assert {done.reason, running.reason} == {"急ぐ\n書く\nまず書く"}
    work.save(work.turn, ended(LIST, 4, CallState.FAILED))
    failed = shown(world, goal).actions[1]
    assert (failed.mark, failed.result) == (ActionStatus.FAILED, "no such file")
    assert shown(world, goal).current is None


@pytest.mark.parametrize("agent_id", TOLD)
def test_only_owners_see_arguments_results_and_thoughts(world: World, agent_id: str) -> None:
    goal = given(world, agent_id)
    work = begun(world, goal)
    answered(work, WRITE, text="内緒 secret")
    work.save(work.turn, ended(WRITE, 3))
    told = shown(world, goal, private=False)
    (deed,) = told.actions
    assert deed.sentence == TOLD[agent_id][1]
    assert (deed.arguments, deed.result, told.thinking) == (None, None, None)
    assert deed.reason is None
    assert deed.mark is ActionStatus.DONE
    for secret in ("秘密", "n.md", "内緒", "size"):
        assert secret not in told.model_dump_json()


def test_a_call_that_waits_for_a_human_is_asked_about_until_it_is_decided(world: World) -> None:
    goal = given(world)
    work = begun(world, goal)
    answered(work, WRITE)
    request = ApprovalRequest(
        n=3,
        call_id=WRITE.id,
        name=WRITE.name,
        argument_hash=WRITE.argument_hash,
        what="書く",
        touches="n.md",
        at=NOW,
    )
    work.save(work.turn.replaced(status=TurnStatus.WAITING), request)
    told = shown(world, goal)
    assert told.status is Standing.WAITING
    assert told.approval is not None
    assert (told.approval.what, told.approval.touches) == ("書く", "n.md")
    assert told.current == told.actions[0]
    assert told.actions[0].mark is ActionStatus.WAITING
    decision = ApprovalDecision(
        n=3, call_id=WRITE.id, argument_hash=WRITE.argument_hash, approved=True, by="owner"
    )
    world.runtime.home.journal.decide(work.turn.id, decision)
    decided = shown(world, goal)
    assert (decided.approval, decided.actions[0].mark) == (None, ActionStatus.PENDING)
    work = world.work(work.turn)
    work.save(work.turn, ended(WRITE, 4, at=NOW + timedelta(hours=1)))
    (deed,) = shown(world, goal).actions
    assert (deed.mark, deed.seconds) == (ActionStatus.DONE, None)


def test_a_stopped_turn_asks_nobody_any_more(world: World) -> None:
    goal = given(world)
    work = begun(world, goal)
    answered(work, WRITE)
    request = ApprovalRequest(
        n=3, call_id=WRITE.id, name="ws_write", argument_hash="h", what="w", touches="t"
    )
    work.save(work.turn.replaced(status=TurnStatus.WAITING), request)
    world.runtime.home.journal.stop(work.turn.id, Stop(by="owner", at=NOW))
    assert shown(world, goal).approval is None


def test_a_plan_shows_its_tasks_and_how_much_of_it_is_done(world: World) -> None:
    goal = given(world)
    fact = require_goal_document(world.runtime.home.facts, "ken", "G1")
    task = PlannedTask(name="片づけ", precondition="a", postcondition="b")
    whole = with_plan(fact.read(Goal), (task,) * 5)
    one, two, *_ = whole.tasks
    whole = whole.with_task(one.replaced(status=TaskStatus.DONE, result="秘密"))
    whole = whole.with_task(two.replaced(status=TaskStatus.FAIL, cause="no file"))
    world.runtime.home.facts.commit(fact.with_body(whole))
    told = shown(world, goal)
    assert (told.completion, told.tasks_over, told.tasks_total) == (20, 2, 5)
    assert [task.status.value for task in told.tasks[:3]] == ["done", "fail", "pending"]
    assert (told.tasks[0].result, told.tasks[1].cause) == ("秘密", "no file")
    assert shown(world, goal, private=False).tasks[0].result is None


def test_a_paused_goal_says_why_and_an_ended_one_is_over(world: World) -> None:
    goal = given(world)
    instructions.pause_goal_by_label(world.runtime, "ken", "G1", by="owner", reason="昼休み")
    told = shown(world, goal)
    assert (told.status, told.pause_reason, told.over) == (Standing.PAUSED, "昼休み", False)
    instructions.cancel_goal(world.runtime, "ken", "G1", by="owner")
    told = shown(world, goal)
    assert (told.status, told.over) == (Standing.ABANDONED, False), "its turn has yet to stop"
    work = begun(world, goal)
    work.save(work.turn.replaced(status=TurnStatus.STOPPED))
    assert shown(world, goal).over


def test_a_goal_whose_turn_is_forgotten_is_still_shown(world: World) -> None:
    fact = require_goal_document(world.runtime.home.facts, "ken", given(world).id)
    lost = fact.read(Goal).replaced(turn_id="gone")
    told = goal_progress(world.runtime, lost, private=True)
    assert (told.status, told.step, told.turn_id) == (Standing.ACTIVE, 0, "gone")


def test_calls_that_failed_are_no_steps(world: World) -> None:
    goal = given(world)
    work = begun(world, goal)
    asked(work)
    failed: Record = ModelResult(n=1, state=CallState.FAILED, error="busy")
    work.save(work.turn, failed)
    answered(work, ActionCall(id="c2_0", name="no_such\naction", arguments=None, raw="{broken"))
    told = shown(world, goal)
    assert told.step == 1
    (deed,) = told.actions
    assert (deed.action, deed.sentence, deed.arguments) == (
        "no_such action",
        "no_such action",
        "{broken",
    )
