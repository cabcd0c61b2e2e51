"""API keys: made, known again by their hash, and never stored."""

import re

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import ApiKey, Principal
from opencrab.domain.errors import Invalid, Unauthenticated
from opencrab.domain.identifier import content_hash
from opencrab.engine.runtime import Runtime
from opencrab.ports.access.keys import Keys

PREFIX = "oc_"
SHORTEST_SECRET = 16

_SENDABLE = re.compile(r"[!-~]+")


def create_api_key(runtime: Runtime, *, name: str, scope: Scope) -> tuple[str, ApiKey]:
    """A new key: its secret, shown this once, and its record."""
    secret = f"{PREFIX}{runtime.clock.secret()}"
    return secret, register_api_key(runtime, name=name, scope=scope, secret=secret)


def register_api_key(runtime: Runtime, *, name: str, scope: Scope, secret: str) -> ApiKey:
    """See that a secret chosen outside is a key; a known one is answered as it is.

    Raises Invalid for a secret that could be guessed, or one that was revoked.
    """
    if len(secret) < SHORTEST_SECRET or not _SENDABLE.fullmatch(secret):
        raise Invalid(
            f"the key {name!r} is too weak, or cannot be sent in a header",
            cure=f"use at least {SHORTEST_SECRET} random ASCII characters without spaces",
        )
    digest = content_hash(secret.encode())
    known = runtime.home.keys.find(digest)
    if known is not None:
        if known.revoked_at is not None:
            raise Invalid(
                f"the key {name!r} was revoked", cure="remove it; OpenCrab then creates a new one"
            )
        return known
    key = ApiKey(
        id=runtime.clock.new_id(),
        name=name,
        scope=scope,
        hash=digest,
        created_at=runtime.clock.now(),
    )
    runtime.home.keys.put(key)
    return key


def principal_of_api_key(keys: Keys, secret: str) -> Principal:
    """Who holds this secret; raises Unauthenticated when nobody (any more) does."""
    key = keys.find(content_hash(secret.encode()))
    if key is None or key.revoked_at is not None:
        raise Unauthenticated(
            "this API key is unknown or revoked", cure="send a valid key, or create a new one"
        )
    return Principal(id=key.id, name=key.name, scope=key.scope)
