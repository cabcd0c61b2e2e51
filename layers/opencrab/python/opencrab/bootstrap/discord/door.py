"""The endpoint for Discord's interactions, built from the environment, as settings load slowly."""

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from opencrab.adapters.door.aws import (
    DYNAMODB,
    SQS,
    PlainDynamoFacts,
    PlainSqsQueue,
    plain_aws,
    require_variable,
)
from opencrab.adapters.door.discord import DiscordPublicKeys, PlainDiscordCallback
from opencrab.adapters.door.http import PlainHttp, door_tls_context
from opencrab.domain.errors import Invalid
from opencrab.gateways.discord.interactions import acks
from opencrab.gateways.discord.interactions.door import (
    Door,
    discord_interaction_headers_and_body,
    interaction_http_result,
)

if TYPE_CHECKING:
    from opencrab.engine.runtime import Runtime
    from opencrab.gateways.rest.discord.interactions import Interactions

DISCORD = "https://discord.com/api/v10"

KEEP_SECONDS = 1.2
ACKNOWLEDGE_SECONDS = 1.0
OFFER_SECONDS = 1.2
"""Timeouts in seconds; Discord waits three seconds, and autocompletion should take half of that."""

_INSTALLATION = "installation"


def discord_door() -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Build the handler of the function that Discord calls, configured by its environment."""
    door = discord_door_from_environment(os.environ, time.time)
    return lambda event: interaction_http_result(
        door.answer(*discord_interaction_headers_and_body(event), time.time())
    )


def discord_door_from_environment(environment: Mapping[str, str], now: Callable[[], float]) -> Door:
    """Build the interactions endpoint in Lambda; raises Invalid for a missing variable."""
    context = door_tls_context(environment.get("AWS_CA_BUNDLE", ""))
    queue_url = require_variable(environment, "OPENCRAB_AWS__INTERACTIONS_QUEUE")
    sqs = plain_aws(environment, SQS, now, trust=context, usual=_origin(queue_url))
    queue = PlainSqsQueue(sqs, queue_url, seconds=KEEP_SECONDS)
    facts = PlainDynamoFacts(
        plain_aws(environment, DYNAMODB, now, trust=context),
        require_variable(environment, "OPENCRAB_AWS__TABLE"),
        seconds=OFFER_SECONDS,
    )
    discord = PlainHttp(environment.get("OPENCRAB_DISCORD_API") or DISCORD, context)
    return Door(
        _keys(require_variable(environment, "OPENCRAB_DISCORD_PUBLIC_KEY")).verify,
        queue.send,
        PlainDiscordCallback(discord, seconds=ACKNOWLEDGE_SECONDS).acknowledge,
        lambda: facts.body(_INSTALLATION, acks.CHOICES_KIND, acks.CHOICES_ID),
    )


def build_discord_door(runtime: "Runtime", public_key: str, api: str = DISCORD) -> "Interactions":
    """Build the interactions endpoint in this process; raises Invalid for malformed keys."""
    queue = runtime.home.interactions
    if queue is None:
        raise Invalid(
            "this installation has no queue of interactions",
            cure="set gateway.discord.enabled to true",
        )

    def choices() -> Any:
        known = runtime.home.facts.get(_INSTALLATION, acks.CHOICES_KIND, acks.CHOICES_ID)
        return None if known is None else known.body

    callback = PlainDiscordCallback(PlainHttp(api, door_tls_context()), seconds=ACKNOWLEDGE_SECONDS)
    return Door(_keys(public_key).verify, queue.send, callback.acknowledge, choices).answer


def _origin(url: str) -> str:
    """Return a URL without its path, since a request to SQS names the queue itself."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


def _keys(listed: str) -> DiscordPublicKeys:
    return DiscordPublicKeys(key for key in listed.split(",") if key.strip())
