"""Trait comparison: does an agent's model follow a number of its soul?"""

from typing import Annotated

from fastapi import Response
from pydantic import Field

from opencrab.domain.agents.trait_comparison import QUESTIONS, TraitName
from opencrab.domain.value import Unit, Value
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable, refuse_unfinished_http_repeat

_LOCAL_SECONDS, _AWS_SECONDS = 480, 25
"""How long the four calls may take together."""

router = http_routes_below("/api/agents/{agent_id}/soul", "agents")


class TraitPairBody(Value, defer_build=False):
    """A number of the stored soul, and which of its questions to ask, from 0."""

    name: TraitName
    question: Annotated[int, Field(ge=0, lt=QUESTIONS)] = 0


class TraitPairView(Value):
    """The answers with the number high and low.

    `share` is 1 if the judge found them as described, 0 if the other way round, 0.5 if its verdicts
    disagree or cannot be used.
    """

    name: TraitName
    question: str
    high_answer: str
    low_answer: str
    share: Unit
    model: str
    judge: str
    cost_micro_usd: int


@router.post("/trait-pair", response_model=TraitPairView, operation_id="compare_trait_pair")
def compare_agents_with_traits(
    api: Api, _caller: Owner, agent_id: Id, once: Repeatable, body: Strict[TraitPairBody]
) -> Response:
    """Compare two versions of an agent that differ in one number.

    Its model for conversations answers a question as both, its model for analysis judges the
    answers without names, in both orders: four calls within the agent's budgets, in 25 seconds at
    most on AWS. The texts are stored nowhere. A repeat with the same Idempotency-Key costs nothing:
    it returns no texts, or 409 if the first request still runs or has failed.
    """

    def make() -> TraitPairView:
        from opencrab.engine.installation.trait_comparison import (  # noqa: PLC0415 - seldom
            compare_trait_on_installation_models,
        )

        seconds = api.capped_wait(_LOCAL_SECONDS) or _LOCAL_SECONDS
        found = compare_trait_on_installation_models(
            api.runtime,
            api.runtime.home.agents.get(agent_id),
            body.name,
            body.question,
            timeout_seconds=seconds if seconds == _LOCAL_SECONDS else min(seconds, _AWS_SECONDS),
        )
        return TraitPairView.model_validate(found.model_dump())

    return once.answer(body, make, again=refuse_unfinished_http_repeat, remembered=_without_texts)


def _without_texts(found: TraitPairView) -> TraitPairView:
    return found.replaced(high_answer="", low_answer="")
