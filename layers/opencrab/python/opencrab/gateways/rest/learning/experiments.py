"""Experiments over REST: what is tried out on an agent, and the owner's say in it."""

from typing import Annotated

from fastapi import Path, Response
from pydantic import StringConstraints

from opencrab.engine.insight import experiments
from opencrab.engine.insight.experiments import Decision, Experiments, Pinned
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable

router = routes_below("/api/agents/{agent_id}/experiments", "analytics")

SubjectName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_.:\-]{1,200}$"),
    Path(examples=["skill:good-questions", "models:conversation.conversation", "memory"]),
]


@router.get("", summary="What is tried out?")
def list_experiments(api: Api, _caller: Owner, agent_id: Id) -> Experiments:
    """Skills on trial, mixed models and hidden memories: what they showed, and what was decided."""
    return experiments.experiments_of_agent(api.runtime, agent_id)


@router.post("/{subject}/stop", response_model=Decision, summary="End an experiment")
def stop_experiment(
    api: Api, caller: Owner, agent_id: Id, subject: SubjectName, once: Repeatable
) -> Response:
    """A skill on trial becomes active; of mixed models the best is asked alone, and pinned.

    Memories are hidden from no search of this agent any more, and pinned. To unpin them, or to undo
    the change, begins that again.
    """
    runtime, by = api.runtime, caller.principal.id
    return once.answer(
        None,
        lambda: Decision.of(experiments.stop_experiment(runtime, agent_id, subject, by)),
        again=lambda: Decision.of(
            experiments.find_stopped_experiment(runtime, agent_id, subject, by)
        ),
    )


@router.post("/{subject}/pin", response_model=Pinned, summary="Keep it as it is")
def pin_subject(
    api: Api, _caller: Owner, agent_id: Id, subject: SubjectName, once: Repeatable
) -> Response:
    """From now on no evidence moves this skill, or which models are asked for this."""
    return once.answer(
        None, lambda: experiments.pin_experiment_subject(api.runtime, agent_id, subject)
    )


@router.post("/{subject}/unpin", response_model=Pinned, summary="Let evidence move it")
def unpin_subject(
    api: Api, _caller: Owner, agent_id: Id, subject: SubjectName, once: Repeatable
) -> Response:
    """From the next night on evidence may move it again."""
    runtime = api.runtime
    return once.answer(
        None,
        lambda: experiments.unpin_experiment_subject(runtime, agent_id, subject),
        again=lambda: experiments.find_unpinned_subject(runtime, agent_id, subject),
    )
