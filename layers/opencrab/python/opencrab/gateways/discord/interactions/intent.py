"""Errand: what an interaction was understood as, kept so that its repeat means the same.

It is kept together with the way to answer, before anything is done.
"""

from collections.abc import Callable
from datetime import timedelta

from opencrab.domain.discord.community import REPLY, Reply
from opencrab.domain.document import INSTALLATION_FACTS, Fact, new_fact
from opencrab.domain.errors import Changed
from opencrab.domain.value import Identifier, Value
from opencrab.engine.runtime import Runtime

ERRAND = "discord_errand"
"""The kind of these facts; their ids are the interactions'."""

TOLD = "discord_told"
"""The kind of facts that say which presses of a button were answered beside the message."""

KEPT = timedelta(days=2)


class Errand(Value):
    """Which agent was meant, and which session, where one was."""

    agent_id: Identifier | None = None
    session_id: Identifier | None = None


def errand_of(runtime: Runtime, reply: Reply, understood: Callable[[], Errand]) -> Errand:
    """What an interaction means: as it was understood at first, whoever asks again."""
    facts = runtime.home.facts
    earlier = facts.get(INSTALLATION_FACTS, ERRAND, reply.id)
    if earlier is not None:
        return earlier.read(Errand)
    errand, until = understood(), runtime.clock.now() + KEPT
    kept = new_fact(INSTALLATION_FACTS, ERRAND, reply.id, errand, expires_at=until)
    way = new_fact(INSTALLATION_FACTS, REPLY, reply.id, reply, expires_at=until)
    try:
        facts.commit(kept, way)
    except Changed:
        stored = facts.get(INSTALLATION_FACTS, ERRAND, reply.id)
        return errand if stored is None else stored.read(Errand)
    return errand


def understood_anew(runtime: Runtime, reply: Reply, errand: Errand) -> Errand:
    """Keep another meaning of an interaction of which nothing was done yet."""
    until = runtime.clock.now() + KEPT
    fact = new_fact(INSTALLATION_FACTS, ERRAND, reply.id, errand, expires_at=until)
    runtime.home.facts.commit(fact.replaced(version=0))
    return errand


def told_mark(runtime: Runtime, reply: Reply) -> Fact:
    """What says that whoever pressed a button is told; there is one for each press."""
    until = runtime.clock.now() + KEPT
    return new_fact(INSTALLATION_FACTS, TOLD, reply.id, Errand(), expires_at=until)
