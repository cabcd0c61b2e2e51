"""Lots: to which of the models that are mixed a turn goes, drawn once for each mix."""

from collections.abc import Iterable, Iterator

from opencrab.domain.agent import Agent, selectable_by
from opencrab.domain.aim import Leave
from opencrab.domain.coin import drawn
from opencrab.domain.errors import Invalid
from opencrab.domain.mix import Mix
from opencrab.domain.routing import Lot
from opencrab.ports.model import Models


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

    Only those count that the agent may still choose itself, that can be found and paid for, that
    know how to call actions, and that are private where the agent is; they share what the others
    had.
    """
    selectable = selectable_by(agent, models.routing)
    usable = [alias for alias in mix.weights if alias in selectable and _name(models, agent, alias)]
    whole = sum(mix.weights[alias] for alias in usable)
    return {alias: mix.weights[alias] / whole for alias in usable} if whole > 0 else {}


def _drawn(models: Models, agent: Agent, mixes: Iterable[Mix], turn_id: str) -> Iterator[Lot]:
    for mix in mixes:
        left = shares(models, agent, mix)
        if not left:
            continue
        alias = drawn(left, "model", turn_id, mix.subject)
        names = {other: _name(models, agent, other) for other in left}
        same = sum(share for other, share in left.items() if names[other] == names[alias])
        yield Lot(use=mix.purpose, task_type=mix.task_type, model=alias, probability=min(same, 1.0))


def _name(models: Models, agent: Agent, alias: str) -> str | None:
    """The model behind an alias; None for one that this agent cannot be given."""
    try:
        info = models.get(alias).info
    except Invalid:
        return None
    usable = info.price is not None and info.functions
    return info.name if usable and (info.private or not agent.llm.private) else None
