"""The authoriser of the HTTP API: it rejects requests without a known API key.

It loads nothing but the keys, since its cold start delays every first request. `gateways.rest`
checks a key's scope, and whether it was revoked a moment ago.
"""

from collections.abc import Callable, Mapping
from typing import Any

from opencrab import settings
from opencrab.adapters.dynamodb.access.key import DynamoKeys
from opencrab.adapters.dynamodb.table import Table
from opencrab.adapters.owner_key import OwnerKey
from opencrab.domain.identifier import content_hash
from opencrab.ports.access.keys import Keys


def rest_authorizer() -> Callable[[Mapping[str, Any]], bool]:
    """Build the function that checks whether an API Gateway event has a valid key."""
    configured = settings.load_settings({})
    stored = DynamoKeys(Table(str(configured.get("aws.table"))))
    digest = str(configured.get("aws.owner_key_hash")).lower()
    keys = OwnerKey(stored, digest) if digest else stored
    return lambda event: aws_request_brings_key(event, keys)


def aws_request_brings_key(event: Mapping[str, Any], keys: Keys) -> bool:
    """Return True if the Authorization header has a known key that is not revoked."""
    header = str((event.get("headers") or {}).get("authorization", ""))
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        return False
    key = keys.find(content_hash(secret.strip().encode()))
    return key is not None and key.revoked_at is None
