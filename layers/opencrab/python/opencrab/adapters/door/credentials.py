"""AWS credentials of a function: in its environment, or with SnapStart from a server beside it.

Those of the environment live longer than the process. A process that is restored from a snapshot
may be older than any credentials, so that it has none there and asks.
"""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from urllib.parse import urlsplit

from opencrab.adapters.door.aws import Credentials, require_variable
from opencrab.adapters.door.http import PlainHttp
from opencrab.domain.errors import Unavailable

_FULL_URI = "AWS_CONTAINER_CREDENTIALS_FULL_URI"
_TOKEN = "AWS_CONTAINER_AUTHORIZATION_TOKEN"  # noqa: S105 - a variable's name
_SECONDS = 2.0
_EARLY_SECONDS = 300.0
_OK = 200


def function_credentials(
    environment: Mapping[str, str], now: Callable[[], float]
) -> Callable[[], Credentials]:
    """Return what returns valid credentials; it asks nobody before it is called.

    Raises Invalid if the environment names none; what it returns raises Unavailable if the server
    does not answer.
    """
    if not environment.get("AWS_ACCESS_KEY_ID") and environment.get(_FULL_URI):
        return ServedCredentials(environment, now)
    credentials = Credentials(
        require_variable(environment, "AWS_ACCESS_KEY_ID"),
        require_variable(environment, "AWS_SECRET_ACCESS_KEY"),
        environment.get("AWS_SESSION_TOKEN", ""),
    )
    return lambda: credentials


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
