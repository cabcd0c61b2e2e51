"""Secrets from AWS: SecureStrings below a path of SSM, or one JSON object of Secrets Manager.

Values are read all at once, kept for five minutes, and never shown.
"""

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

from opencrab.adapters.aws_client import (
    AWS_ERRORS,
    client,
    error_code,
    is_forbidden,
    unavailable,
)
from opencrab.domain.errors import Invalid, OpenCrabError, Unavailable
from opencrab.ports.clock import Clock
from opencrab.ports.secrets import Secrets

log = logging.getLogger(__name__)

KEPT = timedelta(seconds=300)
AGAIN = timedelta(seconds=30)
"""How long to go on with old values before asking again, after asking failed."""

MOST_SECRETS = 100
MOST_BYTES = 65_536

_SSM = "ssm:"
_SECRETS_MANAGER = "secretsmanager:"


def secrets_from(place: str, clock: Clock, open_client: Callable[[str], Any] = client) -> Secrets:
    """The secrets of a place: `ssm:/path/`, or `secretsmanager:` and a name or ARN."""
    if place.startswith(f"{_SSM}/"):
        return SsmSecrets(open_client("ssm"), place.removeprefix(_SSM), clock)
    name = place.removeprefix(_SECRETS_MANAGER)
    if name and name != place:
        return SecretsManagerSecrets(open_client("secretsmanager"), name, clock)
    raise Invalid(
        f"{place!r} names no place of secrets",
        field="aws.secrets",
        cure="write ssm:/path/ or secretsmanager:name",
    )


class _KeptSecrets:
    """Secrets as they were read last; read again when they are old."""

    def __init__(self, place: str, read: Callable[[], dict[str, str]], clock: Clock) -> None:
        self._place = place
        self._read = read
        self._clock = clock
        self._lock = Lock()
        self._values: dict[str, str] | None = None
        self._until: datetime | None = None

    def get(self, name: str) -> str | None:
        with self._lock:
            now = self._clock.now()
            if self._values is None or self._until is None or now >= self._until:
                self._values = self._renewed(now)
            return self._values.get(name)

    def _renewed(self, now: datetime) -> dict[str, str]:
        try:
            values = _bounded(self._read(), self._place)
        except OpenCrabError as error:
            if self._values is None:
                raise
            log.warning("old secrets stay in use: %s", error.message)
            self._until = now + AGAIN
            return self._values
        self._until = now + KEPT
        return values


class SsmSecrets:
    """`ports.secrets.Secrets` below a path of the SSM Parameter Store, by their last part."""

    def __init__(self, client: Any, path: str, clock: Clock) -> None:
        self._client = client
        self._path = path.rstrip("/") or "/"
        self._kept = _KeptSecrets(f"{_SSM}{path}", self._read, clock)

    def __repr__(self) -> str:
        return f"SsmSecrets({self._path!r})"

    def get(self, name: str) -> str | None:
        return self._kept.get(name)

    def _read(self) -> dict[str, str]:
        pages = self._client.get_paginator("get_parameters_by_path")
        values: dict[str, str] = {}
        try:
            for page in pages.paginate(Path=self._path, WithDecryption=True):
                for parameter in page["Parameters"]:
                    values[parameter["Name"].rpartition("/")[2]] = parameter["Value"]
                if len(values) > MOST_SECRETS:
                    break
        except AWS_ERRORS as error:
            permission = "ssm:GetParametersByPath (and kms:Decrypt if it has a key of its own)"
            raise _translated(error, f"{_SSM}{self._path}", permission) from error
        return values


class SecretsManagerSecrets:
    """`ports.secrets.Secrets` in one secret of Secrets Manager: a JSON object of texts."""

    def __init__(self, client: Any, name: str, clock: Clock) -> None:
        self._client = client
        self._name = name
        self._kept = _KeptSecrets(f"{_SECRETS_MANAGER}{name.rpartition(':')[2]}", self._read, clock)

    def __repr__(self) -> str:
        return f"SecretsManagerSecrets({self._name!r})"

    def get(self, name: str) -> str | None:
        return self._kept.get(name)

    def _read(self) -> dict[str, str]:
        # An ARN names the account, which is nobody's business in a chat.
        place = f"{_SECRETS_MANAGER}{self._name.rpartition(':')[2]}"
        try:
            answer = self._client.get_secret_value(SecretId=self._name)
        except AWS_ERRORS as error:
            permission = "secretsmanager:GetSecretValue"
            raise _translated(error, place, permission) from error
        return _texts(answer.get("SecretString", ""), place)


def _texts(document: str, place: str) -> dict[str, str]:
    """The object that a document holds; what it holds instead is never told."""
    values = None
    with suppress(ValueError, RecursionError):
        values = json.loads(document)
    if not isinstance(values, dict) or not all(isinstance(each, str) for each in values.values()):
        raise Unavailable(
            f"the secret {place!r} is no JSON object of texts",
            cure='store it as {"NAME": "value"}',
        )
    return values


def _bounded(values: dict[str, str], place: str) -> dict[str, str]:
    size = len(json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if len(values) > MOST_SECRETS or size > MOST_BYTES:
        raise Unavailable(
            f"{place!r} holds more than {MOST_SECRETS} secrets or {MOST_BYTES} bytes",
            cure="keep only OpenCrab's secrets there",
        )
    return values


def _translated(error: Exception, place: str, permission: str) -> OpenCrabError:
    """Whatever it is, an operator can mend it, so that work waits; nobody else is told more."""
    if is_forbidden(error):
        return Unavailable(
            f"the secrets {place!r} may not be read",
            cure=f"allow {permission} on it to the function's role",
        )
    if error_code(error) == "ResourceNotFoundException":
        return Unavailable(
            f"the secret {place!r} does not exist", cure="create it, or correct aws.secrets"
        )
    return unavailable(f"the store of secrets {place!r}", error, permissions=permission)
