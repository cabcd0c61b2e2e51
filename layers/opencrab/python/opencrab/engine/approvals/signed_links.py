"""Signed links: one approval, decided by whoever holds the link, in the name of who made it.

A link ends with its time, with its approval, and with the key of its maker. It proves only that
this installation made it; whether its maker may decide is asked when it is used.
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
"""What links are signed with; made when the first one is."""

_PURPOSE = "opencrab:decide-approval:1"
_FORM = re.compile(
    r"(?P<approval>[A-Za-z0-9_-]{1,64})\.(?P<key>[A-Za-z0-9_-]{1,64})"
    r"\.(?P<until>[0-9]{1,12})\.(?P<signature>[A-Za-z0-9_-]{43})"
)
_SHOWN = 8


@dataclass(frozen=True)
class SignedLink:
    """What a link that is whole says: which approval, who made it, and until when."""

    approval_id: str
    key_id: str
    until: datetime


def create_approval_link(
    runtime: Runtime, approval_id: str, *, key_id: str, until: datetime
) -> str:
    """The token of a new link. Raises Unavailable where nothing secret can be kept."""
    seconds = int(until.timestamp())
    signature = _signature(
        _ensure_link_secret(runtime.clock, runtime.secrets), approval_id, key_id, seconds
    )
    return f"{approval_id}.{key_id}.{seconds}.{signature}"


def read_approval_link(secrets: Secrets | None, token: str) -> SignedLink:
    """The link of a token, over or not; raises Refused unless this installation made it."""
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
    """In whose name a link decides; raises Refused when its maker's key was revoked."""
    key = _key(keys, link.key_id)
    if key is None or key.revoked_at is not None or key.scope is Scope.READ:
        raise Refused("the key of this link was revoked", cure="ask for a new link")
    name = f"link:{key.id[:_SHOWN]}"
    return Decider(id=key.id, is_owner=key.scope is Scope.OWNER, name=name)


def _signature(secret: str, approval_id: str, key_id: str, seconds: int) -> str:
    said = f"{_PURPOSE}\n{approval_id}\n{key_id}\n{seconds}"
    digest = hmac.digest(secret.encode(), said.encode(), "sha256")
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _ensure_link_secret(clock: Clock, secrets: Secrets | None) -> str:
    """The secret, made if there is none yet; two who make it at once go by what is kept."""
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
    """The secret; where there was none a moment ago, another process may have made it."""
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
