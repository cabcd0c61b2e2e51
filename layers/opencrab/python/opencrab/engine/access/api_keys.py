"""API keys: created, looked up by their hash, and never stored in clear text."""

import re

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import METRICS, ApiKey, Principal
from opencrab.domain.errors import Invalid, Unauthenticated
from opencrab.domain.identifier import content_hash
from opencrab.engine.runtime import Runtime
from opencrab.ports.access.keys import Keys

PREFIX = "oc_"
SHORTEST_SECRET = 16

_SENDABLE = re.compile(r"[!-~]+")


def create_api_key(
    runtime: Runtime,
    *,
    name: str,
    scope: Scope,
    principal_id: str | None = None,
    grants: tuple[str, ...] = (),
) -> tuple[str, ApiKey]:
    """Create an API key; return its secret, which cannot be shown again, and its record.

    With the id of a principal that has a key already, it is another key of the same person. Raises
    Invalid for an unknown principal, and for grants of a key that is no read key.
    """
    if principal_id is not None:
        principal_id = _known_principal(runtime.home.keys, principal_id)
    secret = f"{PREFIX}{runtime.clock.secret()}"
    key = register_api_key(
        runtime, name=name, scope=scope, secret=secret, principal_id=principal_id, grants=grants
    )
    return secret, key


def register_api_key(
    runtime: Runtime,
    *,
    name: str,
    scope: Scope,
    secret: str,
    principal_id: str | None = None,
    grants: tuple[str, ...] = (),
) -> ApiKey:
    """Store a secret chosen by the caller as an API key, or return the key that it already is.

    A read key without grants gets `metrics`. Raises Invalid for a secret that is too weak, or whose
    key was revoked.
    """
    if grants and scope is not Scope.READ:
        raise Invalid(
            f"a key with scope {scope.value!r} takes no grants",
            field="grants",
            cure="omit them, or use scope read",
        )
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
                f"the key {name!r} was revoked",
                cure="delete owner.key in the data folder, or unset OPENCRAB_OWNER_KEY; OpenCrab "
                "then creates a new key",
            )
        return known
    key = ApiKey(
        id=runtime.clock.new_id(),
        name=name,
        scope=scope,
        hash=digest,
        created_at=runtime.clock.now(),
        principal_id=principal_id,
        grants=(grants or (METRICS,)) if scope is Scope.READ else None,
    )
    runtime.home.keys.put(key)
    return key


def principal_of_api_key(keys: Keys, secret: str) -> Principal:
    """Return the principal of an API key; raise Unauthenticated if it is unknown or revoked."""
    key = keys.find(content_hash(secret.encode()))
    if key is None or key.revoked_at is not None:
        raise Unauthenticated(
            "this API key is unknown or revoked", cure="send a valid key, or create a new one"
        )
    return key.principal


def _known_principal(keys: Keys, principal_id: str) -> str:
    """Return the id of a principal that has a key; raise Invalid for any other.

    A person of another gateway, such as Discord, is no principal of a key.
    """
    if all(key.principal.id != principal_id for key in keys.list()):
        raise Invalid(
            f"no key belongs to a principal {principal_id!r}",
            field="principal_id",
            cure="list principals with `opencrab admin keys list`, or omit it for a new person",
        )
    return principal_id
