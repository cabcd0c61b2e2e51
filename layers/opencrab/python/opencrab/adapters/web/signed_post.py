"""Posts to the public internet, signed as Standard Webhooks says."""

import base64
import hmac
import ssl
from collections.abc import Callable, Sequence
from time import monotonic

import httpcore
import httpx

from opencrab.adapters.web.address import Address
from opencrab.adapters.web.connection import Clock, Resolve, resolve_web_host
from opencrab.adapters.web.guarded_get import MOVED, GuardedGet, require_web_status_200
from opencrab.domain.errors import Invalid, Refused
from opencrab.domain.webhooks.webhook import signed_content_of_webhook
from opencrab.ports import clock as clock_port

SECONDS = 15.0
"""The time for one request, until the status has come."""

_GONE = 410
_WHAT = "webhook's receiver"
_SENT = range(200, 300)


class HttpSignedPost:
    """`ports.web.SignedPost` by the dialler of pages; arguments as `HttpPages`."""

    def __init__(
        self,
        clock: clock_port.Clock,
        connector: httpcore.NetworkBackend,
        *,
        resolve: Resolve = resolve_web_host,
        seconds: Clock = monotonic,
        new_tls: Callable[[], ssl.SSLContext] = httpx.create_ssl_context,
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._http = GuardedGet(
            connector, resolve, seconds, new_tls, what=_WHAT, allowance="in time"
        )

    def post(self, url: str, secrets: Sequence[str], event_id: str, body: bytes) -> None:
        timestamp = int(self._clock.now().timestamp())
        signed = signed_content_of_webhook(event_id, timestamp, body)
        headers = [
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("user-agent", "opencrab"),
            ("webhook-id", event_id),
            ("webhook-timestamp", str(timestamp)),
            ("webhook-signature", " ".join(_signature(secret, signed) for secret in secrets)),
        ]
        deadline = self._seconds() + SECONDS
        with self._http.opened(Address.of(url), headers, deadline, post=body) as response:
            status = response.status
        if status in _SENT:
            return
        if status in MOVED:
            raise Refused(f"the {_WHAT} redirects", cure="add the webhook with the other address")
        if status == _GONE:
            raise Invalid(f"the {_WHAT} is gone (status 410)", cure="remove the webhook")
        require_web_status_200(_WHAT, status)


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return f"v1,{base64.b64encode(hmac.digest(key, signed, 'sha256')).decode()}"
