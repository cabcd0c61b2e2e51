"""Which subscriptions are told of an agent's events, kept in the state that each turn reads.

So a turn of an agent of which nobody is told reads and writes nothing for it.
"""

from collections.abc import Mapping

from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Changed
from opencrab.domain.webhooks.subscription import (
    SUBSCRIPTION,
    SUBSCRIPTIONS,
    WebhookSubscription,
)
from opencrab.engine.runtime import Runtime

MOST_SUBSCRIPTIONS = 20
_TRIES = 5


def stored_webhook_subscriptions(runtime: Runtime) -> dict[str, WebhookSubscription]:
    """Return the subscriptions by name."""
    found = runtime.home.facts.page(SUBSCRIPTIONS, SUBSCRIPTION, limit=MOST_SUBSCRIPTIONS)
    return {fact.id: fact.read(WebhookSubscription) for fact in found}


def update_event_report_of_agent(
    runtime: Runtime, agent_id: str, known: Mapping[str, WebhookSubscription] | None = None
) -> None:
    """Write into an agent's state who is told of which of its events, if it changed.

    `known` are the subscriptions, if they were read. Raises Changed if others keep writing it.
    """
    found = stored_webhook_subscriptions(runtime) if known is None else known
    wanted = {
        name: tuple(each.value for each in subscription.events)
        for name, subscription in found.items()
        if subscription.agent_id in {None, agent_id}
    }
    facts = runtime.home.facts
    for left in range(_TRIES - 1, -1, -1):
        stored = facts.get(agent_id, MIND, MIND)
        state = AgentState() if stored is None else stored.read(AgentState)
        if state.reported == wanted:
            return
        after = state.replaced(reported=wanted)
        try:
            facts.commit(
                stored.with_body(after) if stored else new_fact(agent_id, MIND, MIND, after)
            )
        except Changed:
            if not left:
                raise
        else:
            return
