"""Experiments over REST: what is tried out on an agent, and the owner's say in it."""

from typing import Annotated

from fastapi import Path, Response
from pydantic import StringConstraints

from opencrab.engine.insight import experiments
from opencrab.engine.insight.experiments import AdjustmentView, Experiments, Pinned
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable

router = http_routes_below("/api/agents/{agent_id}/experiments", "analytics")

SubjectName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_.:\-]{1,200}$"),
    Path(examples=["skill:good-questions", "models:conversation.conversation", "memory"]),
]


@router.get("")
def list_experiments(api: Api, _caller: Owner, agent_id: Id) -> Experiments:
    """List the experiments on an agent, with results so far.

    These are the trying of models, skills on trial, traffic splits and the memory hold-out.
    """
    return experiments.experiments_for_insight(api.runtime, agent_id)


@router.post("/{subject}/stop", response_model=AdjustmentView)
def stop_experiment(
    api: Api, caller: Owner, agent_id: Id, subject: SubjectName, once: Repeatable
) -> Response:
    """End an experiment.

    A skill on trial becomes active. Of a traffic split the best model stays and is pinned. A memory
    hold-out ends for this agent and is pinned as well. With `models` the agent tries no other model
    any more and uses those that are configured. To continue the experiment, unpin it or
    undo the change.
    """
    runtime, by = api.runtime, caller.principal.id
    return once.answer(
        None,
        lambda: AdjustmentView.of(experiments.stop_experiment(runtime, agent_id, subject, by)),
        again=lambda: AdjustmentView.of(
            experiments.find_stopped_experiment(runtime, agent_id, subject, by)
        ),
    )


@router.post("/{subject}/pin", response_model=Pinned, operation_id="pin_subject")
def pin_subject_of_learning(
    api: Api, caller: Owner, agent_id: Id, subject: SubjectName, once: Repeatable
) -> Response:
    """Pin a skill or a choice of models.

    Evidence no longer changes it.
    """
    runtime, by = api.runtime, caller.principal.id
    return once.answer(
        None, lambda: experiments.pin_experiment_subject(runtime, agent_id, subject, by)
    )


@router.post("/{subject}/unpin", response_model=Pinned, operation_id="unpin_subject")
def unpin_subject_of_learning(
    api: Api, _caller: Owner, agent_id: Id, subject: SubjectName, once: Repeatable
) -> Response:
    """Unpin a skill or a choice of models.

    From the next nightly review on, evidence may change it again.
    """
    runtime = api.runtime
    return once.answer(
        None,
        lambda: experiments.unpin_experiment_subject(runtime, agent_id, subject),
        again=lambda: experiments.find_unpinned_subject(runtime, agent_id, subject),
    )
