"""Signed links: whoever holds one can decide one approval, in the name of its creator.

A link is valid until its time is over, its approval is decided, or its creator's key is revoked. It
proves only that this installation created it; the creator's right to decide is checked when it is
used.
"""

import base64
import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import ApiKey
from opencrab.domain.errors import Refused, Unavailable
from opencrab.engine.approvals.approvals import Decider
from opencrab.engine.runtime import Runtime
from opencrab.ports.access.keys import Keys
from opencrab.ports.access.secrets import Secrets
from opencrab.ports.clock import Clock

SECRET = "APPROVAL_LINK_KEY"  # noqa: S105 - the name under which the secret is kept
"""The secret that signs links; created with the first link."""

_PURPOSE = "opencrab:decide-approval:1"
_FORM = re.compile(
    r"(?P<approval>[A-Za-z0-9_-]{1,64})\.(?P<key>[A-Za-z0-9_-]{1,64})"
    r"\.(?P<until>[0-9]{1,12})\.(?P<signature>[A-Za-z0-9_-]{43})"
)
_SHOWN = 8


@dataclass(frozen=True)
class SignedLink:
    """The content of a valid link: its approval, its creator's key, and its expiry."""

    approval_id: str
    key_id: str
    until: datetime


def create_approval_link(
    runtime: Runtime, approval_id: str, *, key_id: str, until: datetime
) -> str:
    """Create the token of a signed link. Raises Unavailable without a secret store."""
    seconds = int(until.timestamp())
    signature = _signature(
        _ensure_link_secret(runtime.clock, runtime.secrets), approval_id, key_id, seconds
    )
    return f"{approval_id}.{key_id}.{seconds}.{signature}"


def ensure_approval_link_secret(runtime: Runtime) -> None:
    """Create the secret that signs links, unless there is one.

    Not every function of a deployment may store secrets. Raises Unavailable without a secret store.
    """
    _ensure_link_secret(runtime.clock, runtime.secrets)


def read_approval_link(secrets: Secrets | None, token: str) -> SignedLink:
    """Parse a token, even an expired one; raise Refused unless its signature is valid."""
    parts = _FORM.fullmatch(token)
    secret = _read_link_secret(secrets) if parts else None
    if parts is None or secret is None:
        raise _forged_link_error()
    approval_id, key_id, seconds = parts["approval"], parts["key"], int(parts["until"])
    expected = _signature(secret, approval_id, key_id, seconds)
    if not hmac.compare_digest(expected, parts["signature"]):
        raise _forged_link_error()
    return SignedLink(approval_id, key_id, datetime.fromtimestamp(seconds, UTC))


def decider_of_approval_link(keys: Keys, link: SignedLink) -> Decider:
    """Return the decider that a link stands for; raise Refused if its key was revoked."""
    key = _key(keys, link.key_id)
    if key is None or key.revoked_at is not None or key.scope is Scope.READ:
        raise Refused(
            "the key of this link was revoked, or may not decide", cure="ask for a new link"
        )
    name = f"link:{key.id[:_SHOWN]}"
    return Decider(id=key.principal.id, is_owner=key.scope is Scope.OWNER, name=name)


def _signature(secret: str, approval_id: str, key_id: str, seconds: int) -> str:
    said = f"{_PURPOSE}\n{approval_id}\n{key_id}\n{seconds}"
    digest = hmac.digest(secret.encode(), said.encode(), "sha256")
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _ensure_link_secret(clock: Clock, secrets: Secrets | None) -> str:
    """Return the signing secret, created if missing; of two created at once the stored one wins."""
    known = _read_link_secret(secrets)
    if known is not None:
        return known
    if secrets is None:
        raise Unavailable(
            "this installation has no secret store", cure="use the API or the terminal"
        )
    secrets.put(SECRET, clock.secret())
    made = _read_link_secret(secrets)
    if made is None:
        raise Unavailable("the secret for signed links is not readable yet", cure="try again")
    return made


def _read_link_secret(secrets: Secrets | None) -> str | None:
    """Read the signing secret, bypassing the cache if it is missing there; None without one."""
    if secrets is None:
        return None
    found = secrets.get(SECRET)
    if found is None:
        secrets.forget()
        found = secrets.get(SECRET)
    return found


def _key(keys: Keys, key_id: str) -> ApiKey | None:
    return next((key for key in keys.list() if key.id == key_id), None)


def _forged_link_error() -> Refused:
    return Refused("invalid signed link", cure="ask for a new link")
