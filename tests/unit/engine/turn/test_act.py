"""Act: a grant is used up by the call it lets run, and no other call runs after a crash."""

import pytest

from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.errors import Stopped
from opencrab.domain.turn.action import Effect
from opencrab.domain.turn.record import (
    ActionCall,
    ActionIntent,
    ApprovalRequest,
    CallResult,
    CallState,
    ModelAnswer,
    ModelIntent,
    ModelResult,
)
from opencrab.domain.turn.turn import Stop, TurnStatus
from opencrab.engine.approvals.grants import (
    NewGrant,
    grant_approval_in_advance,
    open_approval_grants,
)
from opencrab.engine.turn.act import (
    recover_open_intent_of_turn,
    run_tool_calls_of_turn,
    settle_turn_intent_as_unknown,
)
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.workspace.files import ABSENT
from tests.unit.engine.known_world import World

SHOWN = ActionCall(id="c1", name="ws_write", arguments={"path": "a.md", "content": "海"})
OTHER = SHOWN.replaced(arguments={"path": "a.md", "content": "海\u202e"})


def answered(world: World, *calls: ActionCall) -> TurnWork:
    """A turn of Ken's whose model has just asked for these calls."""
    work = world.work(world.say("やって")[1])
    n = work.next_n
    work.save(work.turn, ModelIntent(n=n, model="m", request_hash="h", reserved=0))
    answer = ModelAnswer(calls=calls)
    work.save(work.turn, ModelResult(n=n, state=CallState.COMPLETED, answer=answer))
    return work


def handed_to(world: World, deliveries: int) -> TurnWork:
    """A turn whose model has just asked for a file write, with so many deliveries since a result.

    The model's answer is a result, so that there are none, unless another worker was here since.
    """
    work = answered(world, SHOWN)
    work.save(work.turn.without_crashes().replaced(deliveries=deliveries))
    return work


@pytest.mark.parametrize(("deliveries", "is_saved"), [(0, False), (2, True)])
def test_the_result_of_a_file_write_waits_for_the_next_change_unless_a_worker_died(
    world: World, deliveries: int, *, is_saved: bool
) -> None:
    work = handed_to(world, deliveries)
    run_tool_calls_of_turn(work, SHOWN)
    assert world.runtime.home.files.info(work.turn.agent_id, "a.md") is not None
    journal = world.runtime.home.journal
    kept = journal.load(work.turn.id).records
    assert isinstance(kept[-1], CallResult if is_saved else ActionIntent)
    work.save(work.turn, ModelIntent(n=work.next_n, model="m", request_hash="h", reserved=0))
    *_, result, intent = journal.load(work.turn.id).records
    assert (result.n, intent.n) == (kept[-1].n, kept[-1].n + 1)
    assert isinstance(result, CallResult)
    assert isinstance(intent, ModelIntent)


def test_a_death_before_the_next_change_writes_the_same_file_and_says_so_once(
    world: World,
) -> None:
    work = handed_to(world, 0)
    run_tool_calls_of_turn(work, SHOWN)
    written = world.runtime.home.files.info(work.turn.agent_id, "a.md")
    recovered = world.work(work.turn)
    recover_open_intent_of_turn(recovered)
    assert world.runtime.home.files.info(work.turn.agent_id, "a.md") == written
    (result,) = recovered.transcript.steps[-1].results.values()
    assert result.state is CallState.COMPLETED
    said = world.runtime.home.journal.lines("s1")
    assert sum(line.kind is LineKind.ACTION for line in said) == 1


def begins(work: TurnWork, call: ActionCall) -> None:
    """A worker is about to run a call, and then no more is heard of it."""
    intent = ActionIntent(
        n=work.next_n,
        call_id=call.id,
        name=call.name,
        effect=Effect.KEYED,
        argument_hash=call.argument_hash,
        prepared={"condition": ABSENT},
    )
    work.save(work.turn, intent)


@pytest.mark.parametrize(
    ("begun", "state"), [(SHOWN, CallState.COMPLETED), (OTHER, CallState.UNKNOWN)]
)
def test_no_other_call_runs_in_the_place_of_the_one_that_had_begun(
    world: World, begun: ActionCall, state: CallState
) -> None:
    work = answered(world, SHOWN)
    begins(work, begun)
    recover_open_intent_of_turn(work)
    assert work.transcript.steps[-1].results[SHOWN.id].state is state
    written = world.runtime.home.files.info(work.turn.agent_id, "a.md") is not None
    assert written is (state is CallState.COMPLETED)


def test_what_is_no_longer_keyed_does_not_run_again(world: World) -> None:
    listing = ActionCall(id="c1", name="ws_list", arguments={})
    work = answered(world, listing)
    begins(work, listing)
    recover_open_intent_of_turn(work)
    assert work.transcript.steps[-1].results["c1"].state is CallState.UNKNOWN


def test_a_narrowed_turn_makes_no_call_that_nobody_approved(world: World) -> None:
    call = ActionCall(id="c1", name="send_speech", arguments={"content": "417417"})
    work = answered(world, call)
    work.narrowed = True
    run_tool_calls_of_turn(work, call)
    assert work.turn.status is TurnStatus.STOPPED
    texts = [line.text for line in world.runtime.home.journal.lines("s1")]
    assert not any("417417" in text for text in texts)
    assert "Others read this conversation now" in texts[-1]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ws_list", {}),
        ("update_impression", {"target_id": "jiro", "personality": "静か"}),
        ("ws_write", {"path": "海.md", "content": "青い"}),
    ],
)
def test_a_grant_for_one_call_lets_one_call_run_and_a_human_is_asked_about_the_next(
    world: World, name: str, arguments: dict[str, str]
) -> None:
    agents = world.runtime.home.agents
    agents.save(agents.get("ken").agent.replaced(policy=ApprovalPolicy.STRICT))
    once = NewGrant(actions=(name,), calls=1, hours=1)
    grant_approval_in_advance(world.runtime, "ken", once, by="owner", grant_id="g1")
    calls = tuple(ActionCall(id=f"c{n}", name=name, arguments=arguments) for n in range(2))
    work = answered(world, *calls)
    run_tool_calls_of_turn(work, calls[0])
    assert work.transcript.steps[-1].results["c0"].state is CallState.COMPLETED
    assert [grant.used for grant in open_approval_grants(world.runtime, "ken")] == [1]
    run_tool_calls_of_turn(work, calls[1])
    assert work.turn.status is TurnStatus.WAITING
    assert "c1" not in work.transcript.steps[-1].results


@pytest.mark.parametrize("path", ["海.md", "sea.md"])
def test_the_calls_after_one_that_waits_for_approval_are_not_run(world: World, path: str) -> None:
    home = world.runtime.home
    home.agents.save(home.agents.get("ken").agent.replaced(policy=ApprovalPolicy.STRICT))
    later_calls = (
        ActionCall(id="c2", name="ws_list", arguments={}),
        ActionCall(id="c3", name="ws_write", arguments={"path": path, "content": "青い"}),
    )
    work = answered(world, SHOWN, *later_calls)
    run_tool_calls_of_turn(work, SHOWN)
    assert work.turn.status is TurnStatus.WAITING
    results = home.journal.load(work.turn.id).records
    cancelled = {each.call_id: each.state for each in results if isinstance(each, CallResult)}
    assert cancelled == {"c2": CallState.CANCELLED, "c3": CallState.CANCELLED}


@pytest.mark.parametrize(
    ("name", "arguments", "is_granted"),
    [
        ("ws_write", {"path": "海.md", "content": "青い"}, False),
        ("ws_write", {"path": "sea.md", "content": "blue"}, True),
        ("update_impression", {"target_id": "jiro", "personality": "静か"}, False),
        ("update_impression", {"target_id": "jiro", "personality": "calm"}, True),
        ("ws_list", {}, True),
    ],
)
def test_a_stop_after_the_last_look_keeps_a_call_from_running(
    world: World, name: str, arguments: dict[str, str], *, is_granted: bool
) -> None:
    home = world.runtime.home
    if is_granted:
        home.agents.save(home.agents.get("ken").agent.replaced(policy=ApprovalPolicy.STRICT))
        once = NewGrant(actions=(name,), calls=1, hours=1)
        grant_approval_in_advance(world.runtime, "ken", once, by="owner", grant_id="g1")
    call = ActionCall(id="c1", name=name, arguments=arguments)
    work = answered(world, call)
    home.journal.stop(work.turn.id, Stop(by="owner", at=world.clock.now()))
    with pytest.raises(Stopped):
        run_tool_calls_of_turn(work, call)
    assert "c1" not in work.transcript.steps[-1].results
    records = home.journal.load(work.turn.id).records
    assert not any(isinstance(record, ActionIntent) for record in records)
    assert home.files.list("ken") == ()
    assert [grant.used for grant in open_approval_grants(world.runtime, "ken")] == [0] * is_granted


@pytest.mark.parametrize(("progress", "deliveries"), [(True, 0), (False, 3)])
def test_a_call_whose_outcome_is_unknown_is_a_result_unless_the_turn_is_given_up(
    world: World, *, progress: bool, deliveries: int
) -> None:
    work = answered(world, SHOWN)
    work.turn = work.turn.replaced(deliveries=3)
    begins(work, SHOWN)
    settle_turn_intent_as_unknown(work, progress=progress)
    stored = world.runtime.home.journal.header(work.turn.id)
    assert (stored.deliveries, stored.crashes) == (deliveries, 0)
    assert work.transcript.steps[-1].results["c1"].state is CallState.UNKNOWN


@pytest.mark.parametrize("asks", [True, False])
def test_the_journal_tells_when_a_call_began_or_was_asked_about(
    world: World, *, asks: bool
) -> None:
    agents = world.runtime.home.agents
    policy = ApprovalPolicy.STRICT if asks else ApprovalPolicy.OPEN
    agents.save(agents.get("ken").agent.replaced(policy=policy))
    work = answered(world, SHOWN)
    world.clock.advance(90)
    run_tool_calls_of_turn(work, SHOWN)
    records = world.runtime.home.journal.load(work.turn.id).records
    times = [each.at for each in records if isinstance(each, ActionIntent | ApprovalRequest)]
    assert times == [world.clock.now()]
    assert (work.transcript.approval is not None) is asks


def test_a_human_is_asked_once_although_the_turn_was_paused_meanwhile(world: World) -> None:
    agents, journal = world.runtime.home.agents, world.runtime.home.journal
    agents.save(agents.get("ken").agent.replaced(policy=ApprovalPolicy.STRICT))
    work = answered(world, SHOWN)
    run_tool_calls_of_turn(work, SHOWN)
    journal.stop(work.turn.id, Stop(by="owner", at=world.clock.now(), pause=True))
    again = world.work(journal.resume(work.turn.id))
    assert again.turn.status is TurnStatus.RUNNING
    run_tool_calls_of_turn(again, SHOWN)
    stored = journal.load(work.turn.id)
    assert stored.turn.status is TurnStatus.WAITING
    assert sum(isinstance(each, ApprovalRequest) for each in stored.records) == 1
