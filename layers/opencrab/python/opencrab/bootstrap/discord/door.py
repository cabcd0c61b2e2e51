"""The door of Discord, put together from the environment alone: settings take too long to load."""

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from opencrab.adapters.door.aws import (
    DYNAMODB,
    SQS,
    Credentials,
    PlainAws,
    PlainFacts,
    PlainQueue,
    Signer,
)
from opencrab.adapters.door.discord import PlainCallback, PublicKeys
from opencrab.adapters.door.http import PlainHttp, tls_roots
from opencrab.domain.errors import Invalid
from opencrab.gateways.discord.interactions import acks
from opencrab.gateways.discord.interactions.door import Door, as_result, of_event

if TYPE_CHECKING:
    from opencrab.engine.runtime import Runtime
    from opencrab.gateways.rest.discord.interactions import Interactions

DISCORD = "https://discord.com/api/v10"

KEEP_SECONDS = 1.2
ACKNOWLEDGE_SECONDS = 1.0
OFFER_SECONDS = 1.2
"""Discord waits three seconds for an answer, and people half of that for what they may choose."""

_INSTALLATION = "installation"


def discord_door() -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """What the function does that Discord calls, configured by its environment."""
    door = door_of(os.environ, time.time)
    return lambda event: as_result(door.answer(*of_event(event), time.time()))


def door_of(environment: Mapping[str, str], now: Callable[[], float]) -> Door:
    """The door in Lambda; raises Invalid for what the environment lacks."""
    context = tls_roots(environment.get("AWS_CA_BUNDLE", ""))

    def aws(service: str, usual: str) -> PlainAws:
        special = environment.get(f"AWS_ENDPOINT_URL_{service.upper()}")
        url = special or environment.get("AWS_ENDPOINT_URL") or usual
        signer = Signer(service, region, credentials)
        return PlainAws(signer, PlainHttp(url, context), now)

    region = environment.get("AWS_REGION") or _require_variable(environment, "AWS_DEFAULT_REGION")
    credentials = Credentials(
        _require_variable(environment, "AWS_ACCESS_KEY_ID"),
        _require_variable(environment, "AWS_SECRET_ACCESS_KEY"),
        environment.get("AWS_SESSION_TOKEN", ""),
    )
    queue_url = _require_variable(environment, "OPENCRAB_AWS__INTERACTIONS_QUEUE")
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    queue = PlainQueue(aws(SQS, _origin(queue_url)), queue_url, seconds=KEEP_SECONDS)
    facts = PlainFacts(
        aws(DYNAMODB, f"https://dynamodb.{region}.{domain}"),
        _require_variable(environment, "OPENCRAB_AWS__TABLE"),
        seconds=OFFER_SECONDS,
    )
    discord = PlainHttp(environment.get("OPENCRAB_DISCORD_API") or DISCORD, context)
    return Door(
        _keys(_require_variable(environment, "OPENCRAB_DISCORD_PUBLIC_KEY")).verify,
        queue.send,
        PlainCallback(discord, seconds=ACKNOWLEDGE_SECONDS).acknowledge,
        lambda: facts.body(_INSTALLATION, acks.CHOICES_KIND, acks.CHOICES_ID),
    )


def local_door(runtime: "Runtime", public_key: str, api: str = DISCORD) -> "Interactions":
    """The same door on one's own computer; raises Invalid for keys that are none."""
    queue = runtime.home.interactions
    if queue is None:
        raise Invalid("this installation has no queue of interactions", cure="enable Discord")

    def choices() -> Any:
        known = runtime.home.facts.get(_INSTALLATION, acks.CHOICES_KIND, acks.CHOICES_ID)
        return None if known is None else known.body

    callback = PlainCallback(PlainHttp(api, tls_roots()), seconds=ACKNOWLEDGE_SECONDS)
    door = Door(_keys(public_key).verify, queue.send, callback.acknowledge, choices)

    def answer(headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        made = door.answer(headers, body, runtime.clock.now().timestamp())
        return made.status, made.content

    return answer


def _origin(url: str) -> str:
    """A URL without its path: a queue is named in the request, not in the address."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


def _keys(listed: str) -> PublicKeys:
    return PublicKeys(key for key in listed.split(",") if key.strip())


def _require_variable(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "")
    if not value:
        raise Invalid(
            f"the environment variable {name} is not set",
            field=name,
            cure="deploy with the template, which sets it",
        )
    return value
