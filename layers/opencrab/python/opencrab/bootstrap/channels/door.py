"""The door for signed requests, in Lambda from the environment, as settings load slowly."""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from opencrab.adapters.door.aws import (
    DYNAMODB,
    SQS,
    PlainDynamoFacts,
    PlainSqsQueue,
    plain_aws,
    require_variable,
)
from opencrab.adapters.door.http import door_tls_context
from opencrab.adapters.door.secrets import PlainSecrets, plain_secrets
from opencrab.domain.errors import Invalid
from opencrab.domain.identifier import new_ulid
from opencrab.gateways.door.door import (
    READERS,
    SignedRequestDoor,
    api_gateway_result_of_signed_request,
    signed_request_of_api_gateway,
)

CALL_SECONDS = 2.5
"""Timeout of each call in seconds; the most impatient sender, Slack, waits three."""


class _AwsLookup:
    """What the door may ask of the installation, on AWS."""

    def __init__(self, facts: PlainDynamoFacts, secrets: PlainSecrets) -> None:
        self._facts = facts
        self._secrets = secrets

    def document(self, owner: str, kind: str, fact_id: str) -> Any:
        return self._facts.body(owner, kind, fact_id)

    def secret(self, name: str) -> str:
        return self._secrets.get(name)

    def new_id(self) -> str:
        return new_ulid(int(time.time() * 1_000), os.urandom(10))


def channel_door() -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Build the handler of the function that senders call, configured by its environment."""
    door = channel_door_from_environment(os.environ, time.time)
    return lambda event: api_gateway_result_of_signed_request(
        door.answer(signed_request_of_api_gateway(event, time.time()))
    )


def channel_door_from_environment(
    environment: Mapping[str, str], now: Callable[[], float]
) -> SignedRequestDoor:
    """Build the door in Lambda, with the kinds that OPENCRAB_CHANNELS names.

    Raises Invalid for a missing variable and an unknown kind.
    """
    context = door_tls_context(environment.get("AWS_CA_BUNDLE", ""))
    queue_url = require_variable(environment, "OPENCRAB_AWS__INTERACTIONS_QUEUE")
    scheme, _, rest = queue_url.partition("://")
    origin = f"{scheme}://{rest.partition('/')[0]}"
    sqs = plain_aws(environment, SQS, now, trust=context, usual=origin)
    facts = PlainDynamoFacts(
        plain_aws(environment, DYNAMODB, now, trust=context),
        require_variable(environment, "OPENCRAB_AWS__TABLE"),
        seconds=CALL_SECONDS,
    )
    secrets = plain_secrets(environment, now, trust=context, seconds=CALL_SECONDS)
    named = require_variable(environment, "OPENCRAB_CHANNELS").split(",")
    kinds = frozenset(each.strip() for each in named if each.strip())
    queue = PlainSqsQueue(sqs, queue_url, seconds=CALL_SECONDS)
    door = SignedRequestDoor(kinds, _AwsLookup(facts, secrets), queue.send)
    for kind in sorted(kinds):
        if kind not in READERS:
            raise Invalid(
                f"there is no kind of channel {kind!r}",
                field="OPENCRAB_CHANNELS",
                cure=f"use {', '.join(sorted(READERS))} in the stack's parameter Channels",
            )
        door.reader(kind)  # loaded now: a cold start has time, the first request has not
    return door
