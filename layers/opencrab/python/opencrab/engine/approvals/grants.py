"""Grants: approval given in advance for a number of calls until a time."""

from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.approval import GRANT, ActionName, Grant
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Changed, Conflict, Invalid, NotFound
from opencrab.domain.value import Text, Value
from opencrab.engine.approvals.approvals import GRANTS_READ
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.turn.action import Actions

MOST = 50
"""The most grants that one agent may have at a time, used up or not."""

LONGEST = timedelta(days=366)

_TRIES = 5


class NewGrant(Value, defer_build=False):
    """A grant for actions or impacts, for a number of calls until a time.

    The end is given by `until` or by `hours` from now.
    """

    actions: Annotated[tuple[ActionName, ...], Field(max_length=50)] = ()
    impacts: Annotated[tuple[Impact, ...], Field(max_length=len(Impact))] = ()
    touches: Annotated[Text, StringConstraints(max_length=300)] = Field(
        default="",
        description="only calls whose targets all begin with this: paths, or host and path",
    )
    calls: Annotated[int, Field(ge=1, le=100_000)]
    until: datetime | None = None
    hours: Annotated[int, Field(ge=1, le=8_784)] | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> "NewGrant":
        if not self.actions and not self.impacts:
            raise ValueError("a grant must have actions or impacts: give at least one")
        if (self.until is None) is (self.hours is None):
            raise ValueError("a grant must end: send either until or hours")
        if self.until is not None and self.until.tzinfo is None:
            raise ValueError("until needs a time zone: write it as 2026-02-17T09:00:00Z")
        return self

    def expires_at(self, now: datetime) -> datetime:
        """Return the time at which the grant ends."""
        return self.until or now + timedelta(hours=self.hours or 0)


def grant_approval_in_advance(
    runtime: Runtime, agent_id: str, new: NewGrant, *, by: str, grant_id: str
) -> Grant:
    """Store a grant; return the stored one if the same id and content exist.

    Raises NotFound (agent), Invalid (unknown action, an end that is past or too late), and Conflict
    (too many grants, or an id with other content).
    """
    runtime.home.agents.get(agent_id)
    now = runtime.clock.now()
    _require_actions(runtime.actions, new.actions)
    until = new.expires_at(now)
    if not now < until <= now + LONGEST:
        raise Invalid(
            f"until is {until.isoformat()}, but must be later than now, by at most 366 days",
            field="until",
            cure="use a time within the next 366 days",
        )
    known = open_approval_grants(runtime, agent_id)
    made = Grant(
        id=grant_id,
        agent_id=agent_id,
        actions=new.actions,
        impacts=new.impacts,
        touches=new.touches,
        calls=new.calls,
        until=until,
        by=by,
        created_at=now,
    )
    if len(known) >= MOST and all(each.id != grant_id for each in known):
        raise Conflict(
            f"limit reached: agent {agent_id!r} has {MOST} grants", cure="revoke one of them first"
        )
    try:
        runtime.home.facts.commit(new_fact(agent_id, GRANT, grant_id, made, expires_at=until))
    except Changed:
        return _given_before(runtime.home.facts, made)
    return made


def revoke_approval_grant(facts: Documents, agent_id: str, grant_id: str) -> Grant:
    """Delete a grant, so that no further call can use it. Raises NotFound."""
    for _ in range(_TRIES):
        fact = facts.get(agent_id, GRANT, grant_id)
        if fact is None:
            raise NotFound(
                f"agent {agent_id!r} has no grant {grant_id!r}",
                cure="list them with `opencrab approvals grants`",
            )
        try:
            facts.commit(fact.removed())
        except Changed:
            continue
        return fact.read(Grant)
    raise Conflict(f"concurrent updates to grant {grant_id!r}; retries exhausted", cure="try again")


def open_approval_grants(runtime: Runtime, agent_id: str) -> tuple[Grant, ...]:
    """Return an agent's grants that have not ended, oldest first. Raises NotFound (agent)."""
    runtime.home.agents.get(agent_id)
    found = runtime.home.facts.page(agent_id, GRANT, limit=GRANTS_READ)
    given, now = (fact.read(Grant) for fact in found), runtime.clock.now()
    return tuple(grant for grant in given if now < grant.until)


def _require_actions(actions: Actions, names: tuple[str, ...]) -> None:
    for name in names:
        if actions.find(name) is None:
            raise Invalid(
                f"there is no action {name!r}", field="actions", cure="correct its name, or omit it"
            )


def _given_before(facts: Documents, wanted: Grant) -> Grant:
    fact = facts.get(wanted.agent_id, GRANT, wanted.id)
    if fact is not None:
        found = fact.read(Grant)
        times = {"created_at": wanted.created_at, "until": wanted.until}
        if found.replaced(used=0, **times) == wanted:
            return found
    raise Conflict(f"grant {wanted.id!r} exists with other content", cure="use another id")
