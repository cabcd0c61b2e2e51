"""The authoriser of the HTTP API: it rejects requests without a known API key.

It loads neither an SDK nor the settings, since its cold start delays every first request; its
environment has what it needs. `gateways.rest` checks a key's scope, and whether it was revoked a
moment ago.
"""

import os
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from opencrab.domain.identifier import content_hash

if TYPE_CHECKING:
    from opencrab.adapters.door.keys import PlainDynamoKeys

SECONDS = 4.0
"""The time for reading the key; the function has 10 s."""

_NEEDED = ("OPENCRAB_AWS__TABLE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


def lambda_rest_authorizer() -> Callable[[Mapping[str, Any]], bool]:
    """Build the function that checks whether an API Gateway event has a valid key."""
    return rest_authorizer_from_environment(os.environ, time.time)


def rest_authorizer_from_environment(
    environment: Mapping[str, str], now: Callable[[], float]
) -> Callable[[Mapping[str, Any]], bool]:
    """Build the authoriser in Lambda; raises Invalid for a missing variable.

    The owner's key needs no table: what reads it, with TLS, loads with the first other key.
    """
    if not all(environment.get(name) for name in _NEEDED):
        _keys_of_table(environment, now)  # says which is missing
    keys = cache(lambda: _keys_of_table(environment, now))
    owner = environment.get("OPENCRAB_AWS__OWNER_KEY_HASH", "").lower()

    def is_valid(digest: str) -> bool:
        return digest == owner or keys().is_valid(digest)

    return lambda event: aws_request_brings_key(event, is_valid)


def _keys_of_table(environment: Mapping[str, str], now: Callable[[], float]) -> "PlainDynamoKeys":
    from opencrab.adapters.door.aws import DYNAMODB, plain_aws, require_variable
    from opencrab.adapters.door.http import door_tls_context
    from opencrab.adapters.door.keys import PlainDynamoKeys

    table = require_variable(environment, "OPENCRAB_AWS__TABLE")
    trust = door_tls_context(environment.get("AWS_CA_BUNDLE", ""))
    aws = plain_aws(environment, DYNAMODB, now, trust=trust)
    return PlainDynamoKeys(aws, table, seconds=SECONDS)


def aws_request_brings_key(event: Mapping[str, Any], is_valid: Callable[[str], bool]) -> bool:
    """Return True if the Authorization header has a key whose hash is valid."""
    header = str((event.get("headers") or {}).get("authorization", ""))
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        return False
    return is_valid(content_hash(secret.strip().encode()))
