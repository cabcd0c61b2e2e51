"""Schedules: an agent's instructions for set times, listed, written, switched and run at once."""

from datetime import datetime
from functools import partial

from fastapi import Response

from opencrab.domain.autonomy.instruction_plan import is_instructed_schedule
from opencrab.domain.autonomy.schedule import Schedule, ScheduleDraft, WhyOff
from opencrab.domain.conversation.message import Channel
from opencrab.domain.value import Value
from opencrab.engine.autonomy import schedules
from opencrab.gateways.rest.http.access import AgentReader, Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.etag import Edit, set_http_etag
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.page import Page, Paged, http_page_of_list

LISTING = "schedules"

router = http_routes_below("/api/agents/{agent_id}/schedules", "tasks")


class ScheduleView(Value):
    """A schedule; only the owner may read `channel`, `version` grows with every change.

    `from_instructions` says that it was made from the agent's standing instructions, and ends with
    them. A change makes it the owner's.
    """

    id: str
    name: str
    when: str
    zone: str
    instructions: str
    enabled: bool
    from_instructions: bool
    why_off: WhyOff | None
    session_id: str | None
    channel: Channel | None
    next_at: datetime | None
    last_at: datetime | None
    last_turn_id: str | None
    fired: int
    created_at: datetime
    updated_at: datetime
    version: int

    @classmethod
    def of(cls, schedule: Schedule, *, private: bool) -> "ScheduleView":
        """Convert a stored schedule to its view; without `private`, `channel` is null."""
        shown = {name: value for name, value in schedule if name in cls.model_fields}
        shown["from_instructions"] = is_instructed_schedule(schedule)
        return cls(**shown | ({} if private else {"channel": None}))


class StartedTurns(Value):
    """The turns that were started."""

    turn_ids: tuple[str, ...]


@router.get("")
def list_schedules(api: Api, caller: AgentReader, agent_id: Id, query: Paged) -> Page[ScheduleView]:
    """List schedules, oldest first.

    An agent has 50 at most.
    """
    read = partial(schedules.schedules_of_agent, api.runtime.home, agent_id)
    items, cursor = http_page_of_list(LISTING, query, read, lambda each: each.id)
    shown = tuple(ScheduleView.of(each, private=caller.is_owner) for each in items)
    return Page(items=shown, next_cursor=cursor)


@router.post("", status_code=201, response_model=ScheduleView)
def create_schedule(
    api: Api, _caller: Owner, agent_id: Id, once: Repeatable, body: Strict[ScheduleDraft]
) -> Response:
    """Create a schedule that gives an instruction at fixed times.

    The first run is at the first of its times after the request.
    """
    schedule_id = once.id_of("schedule")

    def make() -> ScheduleView:
        made = schedules.create_schedule(api.runtime, agent_id, schedule_id, body)
        return ScheduleView.of(made, private=True)

    return once.answer(body, make, status=201)


@router.get("/{schedule_id}")
def get_schedule(
    api: Api, caller: AgentReader, agent_id: Id, schedule_id: Id, response: Response
) -> ScheduleView:
    """Get a schedule.

    ETag holds the version of the owner's settings.
    """
    found = schedules.find_schedule(api.runtime.home.facts, agent_id, schedule_id)
    set_http_etag(response, found.version)
    return ScheduleView.of(found, private=caller.is_owner)


@router.put("/{schedule_id}")
def put_schedule(
    api: Api, _caller: Owner, agent_id: Id, schedule_id: Id, body: Strict[ScheduleDraft], edit: Edit
) -> ScheduleView:
    """Replace a schedule's settings.

    This neither starts a run nor repeats one.
    """
    changed = schedules.change_schedule(
        api.runtime, agent_id, schedule_id, body, version=edit.version
    )
    set_http_etag(edit.response, changed.version)
    return ScheduleView.of(changed, private=True)


@router.delete("/{schedule_id}")
def delete_schedule(api: Api, _caller: Owner, agent_id: Id, schedule_id: Id) -> ScheduleView:
    """Delete a schedule.

    Turns that it started continue.
    """
    return ScheduleView.of(
        schedules.delete_schedule(api.runtime.home.facts, agent_id, schedule_id), private=True
    )


@router.post("/{schedule_id}/run", status_code=202, response_model=StartedTurns)
def run_schedule(
    api: Api, _caller: Owner, agent_id: Id, schedule_id: Id, once: Repeatable
) -> Response:
    """Run a schedule now.

    It runs even if it is switched off; its next scheduled run does not move.
    """
    key = once.id_of("run")

    def make() -> StartedTurns:
        return StartedTurns(
            turn_ids=schedules.run_schedule_now(api.runtime, agent_id, schedule_id, key=key)
        )

    return once.answer(None, make, status=202)
