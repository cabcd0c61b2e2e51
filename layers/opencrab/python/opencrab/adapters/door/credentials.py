"""AWS credentials of a function with SnapStart: a server beside it gives them.

Those of an environment live longer than its process. A process that is restored from a snapshot may
be older than any credentials, so that it has none there and asks.
"""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from urllib.parse import urlsplit

from opencrab.adapters.door.aws import Credentials
from opencrab.adapters.door.http import PlainHttp
from opencrab.domain.errors import Unavailable

_FULL_URI = "AWS_CONTAINER_CREDENTIALS_FULL_URI"
_TOKEN = "AWS_CONTAINER_AUTHORIZATION_TOKEN"  # noqa: S105 - a variable's name
_SECONDS = 2.0
_EARLY_SECONDS = 300.0
_OK = 200


class ServedCredentials:
    """Credentials of the server that the environment names, asked for anew before they expire."""

    def __init__(self, environment: Mapping[str, str], now: Callable[[], float]) -> None:
        self._environment = environment
        self._now = now
        self._known: tuple[Credentials, float] | None = None

    def __call__(self) -> Credentials:
        """Return valid credentials; raises Unavailable."""
        if self._known is None or self._now() >= self._known[1] - _EARLY_SECONDS:
            self._known = self._ask()
        return self._known[0]

    def _ask(self) -> tuple[Credentials, float]:
        url = urlsplit(self._environment[_FULL_URI])
        path = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
        headers = {"host": url.netloc, "authorization": self._environment.get(_TOKEN, "")}
        http = PlainHttp(f"{url.scheme}://{url.netloc}")
        answered = http.get(path, headers, seconds=_SECONDS)
        try:
            if answered.status != _OK:
                raise ValueError(f"HTTP {answered.status}")  # noqa: TRY301 - as an unreadable one
            told = json.loads(answered.content)
            found = Credentials(told["AccessKeyId"], told["SecretAccessKey"], told.get("Token", ""))
            return found, datetime.fromisoformat(told["Expiration"]).timestamp()
        except (ValueError, KeyError, TypeError) as error:
            raise Unavailable(
                f"Lambda gave no AWS credentials: {error}", cure="wait and try again"
            ) from None
