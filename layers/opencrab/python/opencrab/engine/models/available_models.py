"""Which models can be used now: the known ones, and those that providers list themselves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from opencrab.domain.models.availability import is_free_model_price, model_listed_by_provider
from opencrab.ports.models.directory import ProviderDirectory
from opencrab.ports.models.model import ModelInfo
from opencrab.ports.models.readiness import ProviderHealth, ProviderState

WAIT_SECONDS = 2.0
"""How long to wait for providers that were not asked lately; a slower one counts as silent."""


@dataclass(frozen=True)
class AvailableModel:
    """A model with whether it can be called now; `problem` says why not, "" if it can.

    `listed` says whether its provider's own list has it now; None if the provider has no list, or
    did not answer. A `free` model costs nothing.
    """

    info: ModelInfo
    problem: str
    listed: bool | None
    free: bool


def available_models(
    directory: ProviderDirectory, provider: str | None = None
) -> tuple[AvailableModel, ...]:
    """Return all known and listed models by name, of all providers or of one.

    Each usable provider is asked for its list, unless it was some seconds ago; that takes
    WAIT_SECONDS at most, since all are asked side by side.
    """
    states = {each.name: each for each in directory.providers() if provider in {None, each.name}}
    able = [name for name, state in states.items() if not state.missing]
    answers = directory.readiness(able, wait_seconds=WAIT_SECONDS) if able else {}
    infos = directory.infos(_listed_names(answers))
    return tuple(
        _describe(info, states.get(info.provider), answers.get(info.provider))
        for info in sorted(infos, key=lambda each: each.name)
        if provider in {None, info.provider}
    )


def _listed_names(answers: Mapping[str, ProviderHealth]) -> Iterator[str]:
    for name, answer in answers.items():
        for model in answer.models or ():
            yield f"{name}:{model}"


def _describe(
    info: ModelInfo, state: ProviderState | None, answer: ProviderHealth | None
) -> AvailableModel:
    name = info.name.partition(":")[2]
    listed = None
    if answer is not None and answer.ok and answer.models is not None:
        listed = model_listed_by_provider(name, answer.models)
    return AvailableModel(
        info=info,
        problem=_problem(info, state, answer, listed=listed),
        listed=listed,
        free=is_free_model_price(info.price),
    )


def _problem(
    info: ModelInfo,
    state: ProviderState | None,
    answer: ProviderHealth | None,
    *,
    listed: bool | None,
) -> str:
    if state is None:
        return f"there is no provider {info.provider!r}"
    if state.missing:
        return f"provider {state.name!r} is not set up: {state.missing}"
    if answer is None:
        return f"provider {state.name!r} did not answer within {WAIT_SECONDS:g} s"
    if not answer.ok:
        return answer.problem
    if listed is False and state.kind == "ollama":
        # Its list is complete, and has the names that are called.
        return f"it is not installed: run `ollama pull {info.name.partition(':')[2]}`"
    return "" if info.price is not None else f"the price of {info.name!r} is not known"
