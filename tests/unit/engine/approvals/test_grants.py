"""Standing grants, and that no policy and no grant lets a tainted turn touch others unasked."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import Agent
from opencrab.domain.approvals.approval import GRANT, Grant
from opencrab.domain.approvals.policy import ApprovalPolicy, Policy, needs_approval
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed, Conflict, Invalid, NotFound
from opencrab.engine.approvals.approvals import rule_on_approval
from opencrab.engine.approvals.grants import (
    MOST,
    NewGrant,
    grant_approval_in_advance,
    open_approval_grants,
    revoke_approval_grant,
)
from tests.soak import count
from tests.unit.engine.known_world import NOW, World

EXAMPLES = count("rulings on what an agent may do")
ACTIONS = ("ws_write", "send_speech", "web_fetch")
FETCH = ("web_fetch", Impact.EXTERNAL, ("https://example.com/",))
TAINTED = True
OUTSIDE = {Impact.SHARED, Impact.EXTERNAL}
TOUCHES = ("", "notes/", "notes/海.md", "https://example.com/")
TARGETS = st.lists(st.sampled_from(TOUCHES[1:]), max_size=2).map(tuple)


class Kept:
    """Facts as a list, which remembers whether somebody read them."""

    def __init__(self, grants: tuple[Grant, ...]) -> None:
        self.facts = [new_fact("ken", GRANT, each.id, each) for each in grants]
        self.reads = 0

    def page(self, owner: str, kind: str, **_limits: Any) -> tuple[Document, ...]:
        self.reads += 1
        return tuple(fact for fact in self.facts if (fact.owner, fact.kind) == (owner, kind))

    def get(self, owner: str, kind: str, fact_id: str) -> Document | None:
        raise AssertionError("nobody asks for one")

    def get_many(self, owner: str, *names: tuple[str, str]) -> tuple[Document, ...]:
        raise AssertionError("nobody asks for some")

    def list_due(
        self, kind: str, now: datetime, limit: int, *, part: int | None = None
    ) -> tuple[Document, ...]:
        raise AssertionError("nobody asks what is due")

    def commit(self, *facts: Document, due: tuple[Any, ...] = ()) -> None:
        raise AssertionError("a ruling writes nothing")

    def commit_soon(self, fact: Document) -> None:
        raise AssertionError("a ruling writes nothing")


policies: st.SearchStrategy[Policy] = st.one_of(
    st.sampled_from(ApprovalPolicy),
    st.lists(st.sampled_from([*ACTIONS, *(impact.value for impact in Impact)]), max_size=6).map(
        tuple
    ),
)
given_grants = st.lists(
    st.builds(
        Grant,
        id=st.sampled_from(["g1", "g2", "g3"]),
        agent_id=st.just("ken"),
        actions=st.lists(st.sampled_from(ACTIONS), max_size=3).map(tuple),
        impacts=st.lists(st.sampled_from(Impact), max_size=5).map(tuple),
        touches=st.sampled_from(TOUCHES),
        calls=st.integers(1, 3),
        used=st.integers(0, 3),
        until=st.sampled_from([NOW - timedelta(hours=1), NOW, NOW + timedelta(hours=1)]),
        by=st.just("owner"),
        created_at=st.just(NOW),
    ),
    max_size=3,
    unique_by=lambda each: each.id,
).map(tuple)
EVERYTHING = Grant(
    id="g1",
    agent_id="ken",
    actions=ACTIONS,
    impacts=tuple(Impact),
    calls=100,
    until=NOW + timedelta(days=1),
    by="owner",
    created_at=NOW,
)


def ken(policy: Policy) -> Agent:
    return Agent(id="ken", name="Ken", policy=policy, created_at=NOW, updated_at=NOW)


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(
    policies,
    given_grants,
    st.tuples(st.sampled_from(ACTIONS), st.sampled_from(Impact), TARGETS),
    st.sampled_from([True, False]),
)
@example(ApprovalPolicy.OPEN, (EVERYTHING,), FETCH, TAINTED)
@example(("external", "web_fetch"), (EVERYTHING,), FETCH, TAINTED)
@example(("shared",), (), ("ws_write", Impact.SHARED, ("notes/",)), TAINTED)
def test_a_ruling_never_lets_more_run_than_policy_and_grants_say(
    policy: Policy,
    there: tuple[Grant, ...],
    call: tuple[str, Impact, tuple[str, ...]],
    tainted: bool,  # noqa: FBT001
) -> None:
    kept, (action, impact, targets) = Kept(there), call
    found = rule_on_approval(kept, ken(policy), *call, tainted=tainted, now=NOW)
    asks = needs_approval(action, impact, policy, tainted=tainted)
    if tainted and impact in OUTSIDE:
        assert found.must_ask
    if tainted or not asks:
        assert (found.must_ask, found.spend, kept.reads) == (asks, None, 0)
        return
    covering = [each for each in there if each.covers(action, impact, targets, NOW)]
    assert found.must_ask is not bool(covering)
    assert (found.spend is None) is found.must_ask
    if found.spend is not None:
        before = next(fact for fact in kept.facts if fact.id == found.spend.id)
        old, new = before.read(Grant), found.spend.read(Grant)
        assert old in covering
        assert (found.spend.version, new.used) == (before.version + 1, old.used + 1)
        assert new.used <= new.calls


@pytest.fixture
def granted(world: World) -> Grant:
    new = NewGrant(actions=("ws_write",), touches="notes/", calls=2, hours=1)
    return grant_approval_in_advance(world.runtime, "ken", new, by="owner", grant_id="g1")


def rule(world: World, *targets: str, **changes: Any) -> Any:
    """What becomes of a write by Ken, who asks for everything."""
    facts: dict[str, Any] = {"tainted": False, "now": world.clock.now()} | changes
    agent = ken(ApprovalPolicy.STRICT)
    home = world.runtime.home
    return rule_on_approval(
        home.facts, agent, "ws_write", Impact.SELF, targets or ("notes/海.md",), **facts
    )


def test_a_grant_is_good_for_so_many_calls(world: World, granted: Grant) -> None:
    for used in (1, 2):
        found = rule(world)
        assert found.spend.read(Grant).used == used
        world.runtime.home.facts.commit(found.spend)
    assert rule(world).must_ask
    assert open_approval_grants(world.runtime, "ken") == (granted.replaced(used=2),)


def test_a_grant_names_what_is_touched_as_it_is(world: World, granted: Grant) -> None:
    assert rule(world, "notes/海.md", "notes/it's.md").spend
    for other in ("diary.md", "'notes/海.md'", "x notes/海.md", ""):
        assert rule(world, other).must_ask, other
        assert rule(world, "notes/海.md", other).must_ask, other
    assert granted.touches == "notes/"


def test_two_calls_cannot_spend_the_same_leave(world: World, granted: Grant) -> None:
    first, second = rule(world), rule(world)
    world.runtime.home.facts.commit(first.spend)
    with pytest.raises(Changed):
        world.runtime.home.facts.commit(second.spend)
    assert open_approval_grants(world.runtime, "ken")[0].used == 1
    assert granted.used == 0


def test_a_grant_covers_only_what_it_names_until_its_end(world: World, granted: Grant) -> None:
    assert rule(world, "diary.md").must_ask
    assert rule(world, tainted=True).must_ask
    assert rule(world, now=granted.until - timedelta(seconds=1)).spend
    assert rule(world, now=granted.until).must_ask
    world.clock.advance(3_600)
    assert open_approval_grants(world.runtime, "ken") == ()


def test_a_grant_is_taken_back_once_and_for_all(world: World, granted: Grant) -> None:
    assert revoke_approval_grant(world.runtime.home.facts, "ken", granted.id) == granted
    assert rule(world).must_ask
    with pytest.raises(NotFound):
        revoke_approval_grant(world.runtime.home.facts, "ken", granted.id)


def test_the_same_grant_again_is_answered_and_another_is_not(world: World, granted: Grant) -> None:
    world.runtime.home.facts.commit(rule(world).spend)
    world.clock.advance(60)
    same = NewGrant(actions=("ws_write",), touches="notes/", calls=2, hours=1)
    again = grant_approval_in_advance(world.runtime, "ken", same, by="owner", grant_id="g1")
    assert again == granted.replaced(used=1)
    with pytest.raises(Conflict):
        grant_approval_in_advance(
            world.runtime, "ken", same.replaced(calls=3), by="owner", grant_id="g1"
        )


def test_there_are_not_more_grants_than_anybody_can_watch(world: World) -> None:
    new = NewGrant(impacts=(Impact.SELF,), calls=1, hours=1)
    for number in range(MOST):
        grant_approval_in_advance(world.runtime, "ken", new, by="owner", grant_id=f"g{number}")
    with pytest.raises(Conflict, match="50 grants"):
        grant_approval_in_advance(world.runtime, "ken", new, by="owner", grant_id="one-more")


@pytest.mark.parametrize(
    "wrong",
    [
        {"actions": (), "impacts": ()},
        {"until": NOW + timedelta(hours=1)},
        {"hours": None},
        {"hours": None, "until": (NOW + timedelta(hours=1)).replace(tzinfo=None)},
        {"calls": 0},
        {"actions": ("rm -rf",)},
    ],
)
def test_a_grant_names_what_how_often_and_until_when(wrong: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"actions": ("ws_write",), "calls": 1, "hours": 1} | wrong
    with pytest.raises(ValidationError):
        NewGrant(**fields)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"actions": ("ws_wirte",)}, "actions"),
        ({"hours": None, "until": NOW - timedelta(hours=1)}, "until"),
        ({"hours": None, "until": NOW + timedelta(days=400)}, "until"),
    ],
)
def test_a_grant_that_makes_no_sense_is_refused(
    world: World, changes: dict[str, Any], field: str
) -> None:
    new = NewGrant(actions=("ws_write",), calls=1, hours=1).replaced(**changes)
    with pytest.raises(Invalid) as refused:
        grant_approval_in_advance(world.runtime, "ken", new, by="owner", grant_id="g1")
    assert refused.value.field == field
    with pytest.raises(NotFound):
        open_approval_grants(world.runtime, "nobody")
