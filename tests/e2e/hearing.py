"""Who is told of events, and what goes wrong while they are told."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from opencrab.domain.webhooks.subscription import WebhookEventType, WebhookSubscriptionState
from opencrab.engine.webhooks.subscriptions import (
    NewWebhookSubscription,
    add_webhook_subscription,
    list_webhook_subscriptions,
)
from tests.crash.outside import Reply
from tests.e2e.house import House

URL = "https://hooks.example.org/crab?token=hush"
SECRET_WORDS = "潮が満ちる 🦀"
ALL = tuple(WebhookEventType)


class Died(BaseException):
    """The worker's process ended."""


@dataclass
class Receiver:
    """`SignedPost`: who hears, and what goes wrong before or after it has heard."""

    trouble: list[BaseException | None] = field(default_factory=list)
    heard: list[tuple[str, tuple[str, ...], dict[str, Any]]] = field(default_factory=list)
    lost: list[BaseException] = field(default_factory=list)
    calls: int = 0

    def post(self, url: str, secrets: Sequence[str], event_id: str, body: bytes) -> None:
        assert url == URL
        self.calls += 1
        if self.trouble and (error := self.trouble.pop(0)):
            raise error
        self.heard.append((event_id, tuple(secrets), json.loads(body)))
        if self.lost:
            raise self.lost.pop()

    @property
    def types(self) -> list[str]:
        return [told["type"] for _, _, told in self.heard]

    @property
    def once(self) -> list[str]:
        """The types of what was heard, each id once."""
        return [told["type"] for told in {each: told for each, _, told in self.heard}.values()]


def listening(house: House, *trouble: BaseException | None) -> Receiver:
    made = Receiver([*trouble])
    house.runtime = replace(house.runtime, signed_post=made)
    return made


def subscribe(
    house: House, *events: WebhookEventType, name: str = "ops", agent_id: str | None = None
) -> str:
    new = NewWebhookSubscription(name=name, url=URL, events=events or ALL, agent_id=agent_id)
    return add_webhook_subscription(house.runtime, new, "owner").secret


def speaking(house: House, *script: Reply, name: str = "crab", **changes: Any) -> None:
    agent = house.agent(name, script or (Reply(text=SECRET_WORDS),))
    house.session(house.home.agents.save(agent.replaced(**changes)) if changes else agent)


def state(house: House, name: str = "ops") -> WebhookSubscriptionState | None:
    return {each.name: each.state for each in list_webhook_subscriptions(house.runtime)}[name]


def until_quiet(house: House) -> None:
    """Handle all that is queued, also what waits for its next try."""
    for _ in range(14):
        house.work()
        house.later(301)
