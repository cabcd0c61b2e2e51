"""Reconciling: calls that were perhaps billed, and what they cost after all."""

from datetime import datetime
from typing import Annotated, Self

from fastapi import Query, Response
from pydantic import Field

from opencrab.domain.models.fault import Fault
from opencrab.domain.models.routing import Use
from opencrab.domain.turn.record import CallState
from opencrab.domain.usage.ledger import Period, UsageRow
from opencrab.domain.value import Identifier, MicroUsd, Received, Value
from opencrab.engine.models.preferences import (
    current_model_preferences,
    require_directory_of_models,
)
from opencrab.engine.money.reconciliation import (
    Reconciled,
    calls_with_money_reserved,
    settle_money_by_provider_cost,
    settle_money_held_for_call,
)
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.http.access import Caller, Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.view import View

router = http_routes_below("/api/costs", "costs")


class UnconfirmedCall(View):
    """A model call without an answer, and the money that is held for it.

    `provider_call_id` is the provider's own id of it, empty if it gave none.
    """

    metrics_id: str
    agent_id: str
    session_id: str
    turn_id: str
    at: datetime
    provider: str
    model: str
    purpose: Use
    state: CallState
    fault: Fault | None
    reserved_micro_usd: MicroUsd
    held_micro_usd: MicroUsd
    provider_call_id: Received

    @classmethod
    def of_row(cls, row: UsageRow) -> Self:
        """Convert a row of the ledger."""
        return cls.of(
            row,
            metrics_id=row.id,
            reserved_micro_usd=row.reserved,
            held_micro_usd=row.unconfirmed_micro_usd,
        )


class UnconfirmedCallList(Value):
    """An agent's unconfirmed calls, newest first; `complete` if all its calls were searched."""

    items: tuple[UnconfirmedCall, ...]
    complete: bool


class ReconcilePost(Value, defer_build=False):
    """A call to reconcile, by its `metrics_id`.

    Without a cost its provider is asked; with one it is settled by the caller's word.
    """

    call: Annotated[str, Field(min_length=1, max_length=300)]
    cost_micro_usd: Annotated[MicroUsd, Field(ge=0, le=10**12)] | None = Field(
        default=None, description="what the bill says; 0 if the call is not on it"
    )
    above_reservation: bool = Field(
        default=False, description="accept a cost above what was reserved for the call"
    )


class ReconciledCall(Value):
    """A call after its reconciliation.

    `returned_micro_usd` went back to the budgets; negative was taken from them. A call that is not
    `settled` keeps the money that is held for it, for the reason in `problem`.
    """

    call: UnconfirmedCall
    settled: bool
    cost_micro_usd: MicroUsd
    returned_micro_usd: MicroUsd
    settled_by: str | None
    settled_at: datetime | None
    problem: Received
    cure: Received


@router.get("/unconfirmed", operation_id="list_unconfirmed_calls")
def list_unconfirmed_usage(
    api: Api,
    _caller: Owner,
    agent: Annotated[Identifier, Query(description="id of the agent")],
    period: Period = Period.LAST_MONTH,
) -> UnconfirmedCallList:
    """List an agent's calls that were perhaps billed.

    They ended without an answer, their provider counted nothing, and their reservation is held.
    """
    found = calls_with_money_reserved(api.runtime, agent, period)
    return UnconfirmedCallList(
        items=tuple(map(UnconfirmedCall.of_row, found.calls)), complete=found.complete
    )


@router.post("/reconcile", response_model=ReconciledCall, operation_id="reconcile_call")
def reconcile_usage_of_call(
    api: Api, caller: Owner, body: Strict[ReconcilePost], once: Repeatable
) -> Response:
    """Settle a call that was perhaps billed.

    The ledger, the day's counts and every budget that paid are corrected together. The same request
    again changes nothing; another cost for a settled call is a conflict.
    """
    return once.answer(body, lambda: _reconcile(api.runtime, caller, body))


def _reconcile(runtime: Runtime, caller: Caller, body: ReconcilePost) -> ReconciledCall:
    if body.cost_micro_usd is None:
        current_model_preferences(runtime)
        directory = require_directory_of_models(runtime.directory)
        return _view(settle_money_by_provider_cost(runtime, directory, body.call))
    settled = settle_money_held_for_call(
        runtime,
        body.call,
        body.cost_micro_usd,
        by=caller.principal.id,
        above_reservation=body.above_reservation,
    )
    return _view(Reconciled(settled))


def _view(found: Reconciled) -> ReconciledCall:
    settlement = found.call.settlement
    return ReconciledCall(
        call=UnconfirmedCall.of_row(found.call),
        settled=settlement is not None,
        cost_micro_usd=found.call.cost,
        returned_micro_usd=0 if settlement is None else -settlement.change,
        settled_by=None if settlement is None else settlement.by,
        settled_at=None if settlement is None else settlement.at,
        problem=found.problem,
        cure=found.cure,
    )
