"""Changes over REST: what was changed about an agent on evidence, and how it is taken back."""

from fastapi import Response

from opencrab.domain.learning.change import Adjustment
from opencrab.domain.learning.review_period import ReviewResult, ReviewSpan
from opencrab.domain.value import Value
from opencrab.engine.insight.experiments import AdjustmentView
from opencrab.engine.learning import changes, proposals
from opencrab.engine.learning.experience_changes import texts_of_learned_experience_change
from opencrab.engine.learning.nightly import run as night
from opencrab.engine.learning.undo import undo_adjustment
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.page import Page, Paged, http_page_of, id_in_http_cursor

LISTING = "changes"

router = http_routes_below("/api/agents/{agent_id}", "analytics")


class RunBody(Value, defer_build=False):
    """The period to review: the last day or week that is over, or today so far.

    A dry run changes nothing.
    """

    period: ReviewSpan = ReviewSpan.DAILY
    dry_run: bool = False


@router.get("/changes", operation_id="list_changes")
def list_learned_changes(
    api: Api, _caller: Owner, agent_id: Id, query: Paged
) -> Page[AdjustmentView]:
    """List changes made or proposed on evidence, newest first."""
    api.runtime.home.agents.get(agent_id)
    after = id_in_http_cursor(LISTING, query.cursor)
    found = changes.page_of_adjustments(
        api.runtime.home.facts, agent_id, after=after, limit=query.limit + 1
    )
    items, cursor = http_page_of(LISTING, found, query.limit, lambda each: each.id)
    return Page(
        items=tuple(_decision_view(api, agent_id, each) for each in items), next_cursor=cursor
    )


@router.get("/changes/{change_id}")
def get_change(api: Api, _caller: Owner, agent_id: Id, change_id: Id) -> AdjustmentView:
    """Get a change that was made or proposed on evidence.

    It has the values before and after, the evidence and the state.
    """
    api.runtime.home.agents.get(agent_id)
    return _decision_view(
        api, agent_id, changes.find_adjustment(api.runtime.home.facts, agent_id, change_id)
    )


@router.post("/changes/{change_id}/undo", response_model=AdjustmentView)
def undo_change(api: Api, caller: Owner, agent_id: Id, change_id: Id, once: Repeatable) -> Response:
    """Undo a change.

    409 names the later change that prevents it.
    """
    by = caller.principal.id
    return once.answer(
        None,
        lambda: AdjustmentView.of(undo_adjustment(api.runtime, agent_id, change_id, by)),
    )


@router.post("/changes/{change_id}/apply", response_model=AdjustmentView)
def apply_change(
    api: Api, caller: Owner, agent_id: Id, change_id: Id, once: Repeatable
) -> Response:
    """Apply a proposed change.

    409 gives the reason why it cannot be applied. Traffic splits can be applied, and skills and
    experiences can be retired. A proposal to refine or merge a skill is advice: write the new text
    yourself.
    """
    runtime, by = api.runtime, caller.principal.id
    return once.answer(
        None,
        lambda: AdjustmentView.of(
            proposals.follow_learning_proposal(runtime, agent_id, change_id, by)
        ),
        again=lambda: AdjustmentView.of(
            proposals.find_followed_learning_proposal(runtime, agent_id, change_id, by)
        ),
    )


@router.post("/meta/runs", response_model=ReviewResult, operation_id="run_meta_analysis")
def run_learning_review_now(
    api: Api, _caller: Owner, agent_id: Id, once: Repeatable, body: Strict[RunBody]
) -> Response:
    """Run the nightly, weekly or day review now.

    It runs once for each period and returns the result. No model is called, except that one words
    the report a moment later if the agent's aim is `worded`. With `dry_run` nothing is written, and
    it may be repeated.
    """
    api.runtime.home.agents.get(agent_id)
    return once.answer(
        body,
        lambda: night.review_agent_now(api.runtime, agent_id, body.period, dry_run=body.dry_run),
    )


def _decision_view(api: Api, agent_id: str, made: Adjustment) -> AdjustmentView:
    """Return a change with the texts that it is about, which are not stored for repeats."""
    return AdjustmentView.of(
        made, texts_of_learned_experience_change(api.runtime.home.facts, agent_id, made)
    )
