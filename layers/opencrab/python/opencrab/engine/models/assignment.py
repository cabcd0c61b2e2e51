"""Lots: to which of the models that are mixed a turn goes, drawn once for each mix."""

from collections.abc import Container, Iterable, Iterator

from opencrab.domain.agents.agent import Agent
from opencrab.domain.models.optimization import Leave
from opencrab.domain.models.routing import Lot
from opencrab.domain.models.traffic_split import Mix
from opencrab.domain.statistics.hash_bucket import drawn
from opencrab.ports.models.model import Models, choices


def lots(models: Models, agent: Agent, mixes: Iterable[Mix], turn_id: str) -> tuple[Lot, ...]:
    """What a turn draws: the same whoever asks, and nothing where no model of a mix is left.

    A lot's probability is that of its model, by however many aliases that one is in the mix. An
    owner who lets nothing be learned gets nothing that was: the mixes rest until that changes.
    """
    if agent.llm.aim.leave is Leave.OFF:
        return ()
    return tuple(_drawn(models, agent, mixes, turn_id))


def shares(models: Models, agent: Agent, mix: Mix) -> dict[str, float]:
    """How likely each alias of a mix is now; {} where none of them can be asked.

    Only those count that the agent may still choose itself (`choices`); they share what the others
    had.
    """
    return _shares(mix, choices(models, agent, mix.weights))


def _drawn(models: Models, agent: Agent, mixes: Iterable[Mix], turn_id: str) -> Iterator[Lot]:
    for mix in mixes:
        known = choices(models, agent, mix.weights)
        left = _shares(mix, known)
        if not left:
            continue
        alias = drawn(left, "model", turn_id, mix.subject)
        name = known[alias].name
        same = sum(share for other, share in left.items() if known[other].name == name)
        yield Lot(use=mix.purpose, task_type=mix.task_type, model=alias, probability=min(same, 1.0))


def _shares(mix: Mix, known: Container[str]) -> dict[str, float]:
    usable = [alias for alias in mix.weights if alias in known]
    whole = sum(mix.weights[alias] for alias in usable)
    return {alias: mix.weights[alias] / whole for alias in usable} if whole > 0 else {}
