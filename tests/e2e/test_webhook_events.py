"""Those who are told of events hear what happened, once it has, whatever fails on the way."""

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import pytest

from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.conversation.message import ATTEMPTS
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import (
    Conflict,
    Invalid,
    NoRoom,
    NotFound,
    OpenCrabError,
    Refused,
    Unavailable,
)
from opencrab.domain.goals.goal import GoalStatus
from opencrab.domain.models.fault import Fault as ModelFault
from opencrab.domain.webhooks.subscription import (
    SUBSCRIPTION,
    SUBSCRIPTION_STATE,
    SUBSCRIPTIONS,
    WebhookEvent,
    WebhookEventType,
    WebhookSubscriptionState,
)
from opencrab.engine.agents.creation import NewAgent, create_agent
from opencrab.engine.agents.event_report import MOST_SUBSCRIPTIONS
from opencrab.engine.approvals import approvals
from opencrab.engine.conversation.delivery import deliver_session_utterance
from opencrab.engine.conversation.event_delivery import queue_webhook_event
from opencrab.engine.webhooks.subscriptions import (
    NewWebhookSubscription,
    add_webhook_subscription,
    remove_webhook_subscription,
    rotate_webhook_subscription,
    try_webhook_subscription,
)
from opencrab.ports.documents import Documents
from opencrab.ports.turn.queue import MessageOutcome
from tests.contract.homes import DISTINCT_HOMES
from tests.crash.outside import Reply
from tests.e2e.hearing import (
    ALL,
    SECRET_WORDS,
    URL,
    Died,
    listening,
    speaking,
    state,
    subscribe,
    until_quiet,
)
from tests.e2e.house import House
from tests.e2e.instructed import carried, crab, goal, instruct

IN_HOMES = DISTINCT_HOMES


def test_a_turns_end_is_told_by_ids_and_status_and_without_words(house: House) -> None:
    speaking(house)
    receiver = listening(house)
    secret = subscribe(house)
    (turn,) = house.say(SECRET_WORDS)
    until_quiet(house)
    ((event_id, secrets, told),) = receiver.heard
    ended = house.turn(turn.id).ended_at
    assert ended is not None
    assert told == {
        "type": "turn.completed",
        "timestamp": ended.isoformat(),
        "data": {
            "subscription": "ops",
            "agent_id": "crab",
            "session_id": "s",
            "turn_id": turn.id,
            "status": "completed",
        },
    }
    assert event_id.startswith("msg_")
    assert secrets == (secret,)
    assert SECRET_WORDS not in json.dumps(told, ensure_ascii=False)


def test_failures_and_only_what_was_asked_for_is_told(house: House) -> None:
    speaking(house, Reply(fails=(ModelFault.AUTH,)))
    receiver = listening(house)
    subscribe(house, WebhookEventType.TURN_FAILED)
    house.say("one")
    until_quiet(house)
    house.say("two", "m2")
    until_quiet(house)
    assert receiver.types == ["turn.failed"]
    assert receiver.heard[0][2]["data"]["status"] == "failed"


def test_an_approval_is_told_while_it_waits(house: House) -> None:
    rings = Reply(calls=(("ring_bell", {"tone": SECRET_WORDS}),))
    speaking(house, rings, Reply(text="鳴らしました"), policy=ApprovalPolicy.STRICT)
    receiver = listening(house)
    subscribe(house, WebhookEventType.APPROVAL_REQUESTED)
    (turn,) = house.say("鐘を")
    until_quiet(house)
    (found,) = approvals.open_or_decided_approvals(house.runtime.home.facts, decided=False)
    ((_, _, told),) = receiver.heard
    assert (told["type"], told["data"]["approval_id"], told["data"]["status"]) == (
        "approval.requested",
        found.id,
        "pending",
    )
    assert told["data"]["turn_id"] == turn.id
    assert SECRET_WORDS not in json.dumps(told, ensure_ascii=False)


def test_a_goal_is_told_when_it_has_finished(house: House) -> None:
    crab(house)
    receiver = listening(house)
    subscribe(house, WebhookEventType.GOAL_FINISHED)
    instruct(house)
    carried(house)
    assert goal(house).status is GoalStatus.COMPLETED
    ((_, _, told),) = receiver.heard
    assert (told["type"], told["data"]["goal_id"], told["data"]["status"]) == (
        "goal.finished",
        "G1",
        "completed",
    )


def test_an_event_whose_change_was_never_written_is_not_told(house: House) -> None:
    speaking(house)
    receiver = listening(house)
    subscribe(house)
    event = WebhookEvent(
        subscription="ops",
        type=WebhookEventType.TURN_COMPLETED,
        agent_id="crab",
        session_id="s",
        turn_id="t1",
    )
    queue_webhook_event(house.home.deliveries, event, run=1)
    until_quiet(house)
    assert receiver.calls == 0
    assert house.home.deliveries.list_dead_letters(5) == ()


@pytest.mark.parametrize("lost", [Died(), Unavailable("the line is dead")])
def test_a_repeat_has_the_same_id(house: House, lost: BaseException) -> None:
    speaking(house)
    receiver = listening(house)
    subscribe(house)
    house.say("one")

    receiver.lost = [lost]
    with suppress(Died):
        house.work()
    house.later(house.runtime.rules.visibility_seconds + 1)
    until_quiet(house)
    assert receiver.types == ["turn.completed"] * 2
    assert len({each for each, _, _ in receiver.heard}) == 1


def test_what_nobody_takes_ends_as_a_dead_letter_with_its_reason(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    speaking(house)
    receiver = listening(house, *[Unavailable("status 500")] * 40)
    secret = subscribe(house)
    house.say("one")
    until_quiet(house)
    assert receiver.calls == ATTEMPTS
    ((body, reason),) = house.home.deliveries.list_dead_letters(5)
    assert reason == "event turn.completed for 'ops': status 500"
    assert (found := state(house)) is not None
    assert (found.problem, found.failed) == ("status 500", 1)
    for shown in (body, reason, caplog.text):
        assert secret not in shown
        assert URL not in shown
    # From then on each event is tried once, and none for some minutes after a failure.
    house.say("two", "m2")
    house.work()
    house.say("three", "m3")
    house.work()
    assert receiver.calls == ATTEMPTS + 1
    assert (found := state(house)) is not None
    assert found.failed == 3
    receiver.trouble.clear()
    house.clock.advance(301)
    house.say("four", "m4")
    house.work()
    assert receiver.types == ["turn.completed"]
    assert (found := state(house)) is not None
    assert (found.problem, found.failed) == ("", 0)


@pytest.mark.parametrize("error", [Refused("redirects"), Invalid("gone (status 410)")])
def test_a_receiver_that_refuses_is_not_asked_again(house: House, error: OpenCrabError) -> None:
    speaking(house)
    receiver = listening(house, error)
    subscribe(house)
    house.say("one")
    until_quiet(house)
    assert receiver.calls == 1
    assert len(house.home.deliveries.list_dead_letters(5)) == 1


def test_a_receiver_that_hangs_holds_up_nobody_else(house: House) -> None:
    speaking(house)
    receiver = listening(house)
    subscribe(house, name="slow")
    subscribe(house, name="quick")
    house.say("one")
    receiver.trouble = [Unavailable("status 503")]
    house.work()
    assert len(receiver.heard) == 1


def test_who_is_not_told_of_an_agent_hears_nothing_of_it(house: House) -> None:
    speaking(house)
    house.agent("rose", (Reply(text="…"),))
    receiver = listening(house)
    subscribe(house, agent_id="rose")
    house.say("one")
    until_quiet(house)
    assert receiver.calls == 0
    with pytest.raises(NotFound):
        subscribe(house, name="other", agent_id="nobody")


def test_an_agent_of_which_nobody_is_told_asks_for_nothing(house: House) -> None:
    speaking(house)
    listening(house)
    subscribe(house)
    remove_webhook_subscription(house.runtime, "ops")
    assert house.home.agents.get("crab").mind.reported == {}
    house.calls.clear()
    house.say("one")
    house.work()
    assert house.calls["deliveries.send"] == 0


def test_an_event_that_is_looked_at_too_early_is_told_later(house: House) -> None:
    speaking(house)
    receiver = listening(house)
    subscribe(house)
    (turn,) = house.say("one")
    event = WebhookEvent(
        subscription="ops",
        type=WebhookEventType.TURN_COMPLETED,
        agent_id="crab",
        session_id="s",
        turn_id=turn.id,
    )
    queue_webhook_event(house.home.deliveries, event, run=9)
    early = house.home.deliveries.receive(visibility_seconds=60, wait_seconds=0)
    assert early is not None
    assert deliver_session_utterance(house.runtime, early) is MessageOutcome.CONTINUE
    until_quiet(house)
    # The worker queued it, too: a receiver knows both by one id.
    assert (receiver.types, receiver.once) == (["turn.completed"] * 2, ["turn.completed"])


def test_one_that_takes_a_name_over_hears_nothing_of_before(house: House) -> None:
    speaking(house)
    receiver = listening(house, Unavailable("status 503"))
    subscribe(house)
    house.say("one")
    house.work()
    house.clock.advance(1)
    remove_webhook_subscription(house.runtime, "ops")
    subscribe(house)
    until_quiet(house)
    assert receiver.heard == []
    house.say("two", "m2")
    until_quiet(house)
    assert len(receiver.heard) == 1


def test_one_that_hears_another_agent_now_is_not_told_of_the_one_before(house: House) -> None:
    speaking(house)
    house.agent("rose", (Reply(text="…"),))
    receiver = listening(house)
    subscribe(house, agent_id="crab")
    # The process died before the agent knew that nobody hears it any more.
    (gone,) = house.home.facts.page(SUBSCRIPTIONS, SUBSCRIPTION, limit=2)
    house.home.facts.commit(gone.removed())
    subscribe(house, agent_id="rose")
    assert house.home.agents.get("crab").mind.reported != {}
    house.say("one")
    until_quiet(house)
    assert receiver.calls == 0
    assert house.home.deliveries.list_dead_letters(5) == ()


def test_who_comes_second_for_a_name_leaves_no_agent_telling_it(house: House) -> None:
    speaking(house)
    house.agent("rose", (Reply(text="…"),))
    facts = house.home.facts

    class Overtaken:
        """Somebody else takes the name when this one is about to."""

        def __getattr__(self, name: str) -> Any:
            return getattr(facts, name)

        def commit(self, *documents: Document) -> None:
            if {each.kind for each in documents} == {SUBSCRIPTION}:
                subscribe(house, agent_id="rose")
            facts.commit(*documents)

    runtime = replace(house.runtime, home=replace(house.home, facts=cast(Documents, Overtaken())))
    new = NewWebhookSubscription(name="ops", url=URL, events=ALL, agent_id="crab")
    with pytest.raises(Conflict):
        add_webhook_subscription(runtime, new, "owner")
    assert house.home.agents.get("crab").mind.reported == {}
    assert set(house.home.agents.get("rose").mind.reported) == {"ops"}


def test_a_new_one_has_not_the_troubles_of_one_of_its_name(house: House) -> None:
    speaking(house)
    receiver = listening(house)
    # It was noted by who was sending while the subscription was removed.
    trouble = WebhookSubscriptionState(problem="status 503", failed=3, at=house.clock.now())
    left = new_fact(SUBSCRIPTIONS, SUBSCRIPTION_STATE, "ops", trouble)
    house.home.facts.commit(left.replaced(version=0))
    subscribe(house)
    assert state(house) is None
    house.say("one")
    house.work()
    assert receiver.types == ["turn.completed"]


def test_an_agent_that_comes_later_is_told_of_too(house: House) -> None:
    subscribe(house, WebhookEventType.TURN_FAILED)
    made = create_agent(house.runtime, NewAgent(name="蟹"), owner="owner", agent_id="late")
    assert house.home.agents.get(made.agent.id).mind.reported == {"ops": ("turn.failed",)}


def test_a_new_secret_signs_beside_the_one_before(house: House) -> None:
    speaking(house)
    receiver = listening(house)
    first = subscribe(house)
    second = rotate_webhook_subscription(house.runtime, "ops", hours=1).secret
    third = rotate_webhook_subscription(house.runtime, "ops", hours=1).secret
    try_webhook_subscription(house.runtime, "ops", event_id="t")
    house.clock.advance(3_601)
    try_webhook_subscription(house.runtime, "ops", event_id="t")
    last = rotate_webhook_subscription(house.runtime, "ops", hours=0).secret
    try_webhook_subscription(house.runtime, "ops", event_id="t")
    assert [secrets for _, secrets, _ in receiver.heard] == [
        (third, second, first),
        (third,),
        (last,),
    ]
    assert receiver.types == ["webhook.test"] * 3
    with pytest.raises(Invalid):
        rotate_webhook_subscription(house.runtime, "ops", hours=169)


def test_where_nobody_delivers_it_says_what_to_deploy(house: House) -> None:
    speaking(house)
    house.runtime = replace(house.runtime, home=replace(house.home, interactions=None))
    with pytest.raises(Conflict) as refused:
        subscribe(house)
    assert "Channels=webhook" in (refused.value.cure or "")
    assert house.home.agents.get("crab").mind.reported == {}


def test_names_are_unique_and_few(house: House) -> None:
    subscribe(house)
    with pytest.raises(Conflict):
        subscribe(house)
    for each in range(MOST_SUBSCRIPTIONS - 1):
        subscribe(house, name=f"n{each}")
    with pytest.raises(NoRoom):
        subscribe(house, name="more")
    with pytest.raises(NotFound):
        remove_webhook_subscription(house.runtime, "nobody")
    with pytest.raises(NotFound):
        try_webhook_subscription(house.runtime, "nobody", event_id="t")
