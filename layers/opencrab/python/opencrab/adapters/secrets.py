"""Secrets from AWS: SecureStrings below a path of SSM, or one JSON object of Secrets Manager.

Values are read all at once, kept for five minutes, and never shown.
"""

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from opencrab.adapters.aws_client import (
    AWS_ERRORS,
    aws_error_code,
    aws_service_client,
    aws_unavailable_error,
    is_aws_forbidden,
)
from opencrab.domain.access.secret import require_storable_secret
from opencrab.domain.errors import Invalid, OpenCrabError, Unavailable
from opencrab.ports.access.secrets import Secrets
from opencrab.ports.clock import Clock

T = TypeVar("T")

log = logging.getLogger(__name__)

KEPT = timedelta(seconds=300)
AGAIN = timedelta(seconds=30)
"""How long to go on with old values before asking again, after asking failed."""

MOST_SECRETS = 100
MOST_BYTES = 65_536

ATTEMPTS = 5
"""Tries at a change of a secret that others change at the same time."""

_CURRENT, _PREVIOUS = "AWSCURRENT", "AWSPREVIOUS"
_MISTYPED = {"HierarchyTypeMismatchException", "ValidationException"}
_SSM = "ssm:"
_SECRETS_MANAGER = "secretsmanager:"


def secret_store_from_settings(
    place: str, clock: Clock, open_client: Callable[[str], Any] = aws_service_client
) -> Secrets:
    """Open the secret store of a setting: `ssm:/path/`, `secretsmanager:` and name or ARN.

    Raises Invalid for any other value.
    """
    if place.startswith(f"{_SSM}/"):
        return SsmSecrets(open_client("ssm"), place.removeprefix(_SSM), clock)
    name = place.removeprefix(_SECRETS_MANAGER)
    if name and name != place:
        return SecretsManagerSecrets(open_client("secretsmanager"), name, clock)
    raise Invalid(
        f"{place!r} is not a valid secrets location",
        field="aws.secrets",
        cure="write ssm:/path/ or secretsmanager:name",
    )


class _KeptSecrets:
    """A cache of secrets, read again after KEPT."""

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

    def put(self, name: str, value: str, write: Callable[[], object]) -> None:
        """Write one secret, after checking that the store stays within its limits."""
        require_storable_secret(name, value)
        with self._lock:
            values = _require_within_limits(self._read() | {name: value}, self._place)
            write()
            # What was written is known here; the place itself may show it a moment later.
            self._values, self._until = values, self._clock.now() + KEPT

    def forget(self) -> None:
        with self._lock:
            self._until = None

    def _renewed(self, now: datetime) -> dict[str, str]:
        try:
            values = _require_within_limits(self._read(), self._place)
        except OpenCrabError as error:
            if self._values is None:
                raise
            log.warning("cannot read secrets, keeping the cached ones: error=%s", error.message)
            self._until = now + AGAIN
            return self._values
        self._until = now + KEPT
        return values


class SsmSecrets:
    """`ports.access.secrets.Secrets` in SSM's Parameter Store, below a path."""

    def __init__(self, client: Any, path: str, clock: Clock) -> None:
        self._client = client
        self._path = path.rstrip("/") or "/"
        self._place = f"{_SSM}{self._path}"
        self._kept = _KeptSecrets(f"{_SSM}{path}", self._read, clock)

    def __repr__(self) -> str:
        return f"SsmSecrets({self._path!r})"

    def get(self, name: str) -> str | None:
        return self._kept.get(name)

    def put(self, name: str, value: str) -> None:
        self._kept.put(name, value, lambda: self._write(name, value))

    def forget(self) -> None:
        self._kept.forget()

    def _read(self) -> dict[str, str]:
        permission = "ssm:GetParametersByPath (and kms:Decrypt if it has a key of its own)"
        return _call_aws(self._parameters, self._place, permission)

    def _parameters(self) -> dict[str, str]:
        pages = self._client.get_paginator("get_parameters_by_path")
        values: dict[str, str] = {}
        for page in pages.paginate(Path=self._path, WithDecryption=True):
            for parameter in page["Parameters"]:
                values[parameter["Name"].rpartition("/")[2]] = parameter["Value"]
            if len(values) > MOST_SECRETS:
                break
        return values

    def _write(self, name: str, value: str) -> None:
        permission = "ssm:PutParameter (and kms:Encrypt if it has a key of its own)"
        put = partial(
            self._client.put_parameter,
            Name=f"{self._path.rstrip('/')}/{name}",
            Value=value,
            Type="SecureString",
            Overwrite=True,
            Tier="Intelligent-Tiering",
        )
        _call_aws(put, self._place, permission, deed="written")


class SecretsManagerSecrets:
    """`ports.access.secrets.Secrets` in one secret of Secrets Manager: a JSON object.

    Each change writes the whole object, and Secrets Manager has no conditional write. So the writer
    checks which version its own replaced: if it is not the one that it had read, a concurrent
    change may be lost, and is written again together with its own.
    """

    def __init__(self, client: Any, name: str, clock: Clock) -> None:
        self._client = client
        self._name = name
        # An ARN names the account, which is nobody's business in a chat.
        self._place = f"{_SECRETS_MANAGER}{name.rpartition(':')[2]}"
        self._kept = _KeptSecrets(self._place, self._read, clock)

    def __repr__(self) -> str:
        return f"SecretsManagerSecrets({self._name!r})"

    def get(self, name: str) -> str | None:
        return self._kept.get(name)

    def put(self, name: str, value: str) -> None:
        self._kept.put(name, value, lambda: self._write(name, value))

    def forget(self) -> None:
        self._kept.forget()

    def _read(self) -> dict[str, str]:
        return self._version(_CURRENT)[0]

    def _write(self, name: str, value: str) -> None:
        values, version = self._version(_CURRENT)
        for _ in range(ATTEMPTS):
            written = self._put(values | {name: value})
            newest, newest_version = self._version(_CURRENT)
            if newest_version != written:
                values, version = newest, newest_version
                if values.get(name) == value:
                    return
                continue
            values, replaced = self._version(_PREVIOUS)
            if replaced == version:
                return
            version = written
        raise Unavailable(
            f"the secret {self._place!r} has too many concurrent updates; retries exhausted",
            cure="try again in a few seconds",
        )

    def _version(self, stage: str) -> tuple[dict[str, str], str]:
        """Return the secret's values at a stage, and the id of that version."""
        get = partial(self._client.get_secret_value, SecretId=self._name, VersionStage=stage)
        answer = _call_aws(get, self._place, "secretsmanager:GetSecretValue")
        return _texts(answer.get("SecretString", ""), self._place), str(answer["VersionId"])

    def _put(self, values: dict[str, str]) -> str:
        """Store the values as the newest version and return its id."""
        document = json.dumps(_require_within_limits(values, self._place))
        permission = "secretsmanager:PutSecretValue (and kms:GenerateDataKey if its key is yours)"
        put = partial(self._client.put_secret_value, SecretId=self._name, SecretString=document)
        answer = _call_aws(put, self._place, permission, deed="written")
        return str(answer["VersionId"])


def _texts(document: str, place: str) -> dict[str, str]:
    """Parse the secret; raise Unavailable, without quoting it, if it is no object of strings."""
    values = None
    with suppress(ValueError, RecursionError):
        values = json.loads(document)
    if not isinstance(values, dict) or not all(isinstance(each, str) for each in values.values()):
        raise Unavailable(
            f"the secret {place!r} is not a JSON object with string values",
            cure='store it as {"NAME": "value"}',
        )
    return values


def _require_within_limits(values: dict[str, str], place: str) -> dict[str, str]:
    size = len(json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if len(values) > MOST_SECRETS or size > MOST_BYTES:
        raise Unavailable(
            f"{place!r} holds more than {MOST_SECRETS} secrets or {MOST_BYTES} bytes",
            cure="keep only OpenCrab's secrets there",
        )
    return values


def _call_aws(ask: Callable[[], T], place: str, permission: str, *, deed: str = "read") -> T:
    """Call AWS and translate its errors; the cause is dropped, as it may quote a secret."""
    try:
        return ask()
    except AWS_ERRORS as error:
        failure = _translate_error(error, place, permission, deed)
    raise failure


def _translate_error(error: Exception, place: str, permission: str, deed: str) -> OpenCrabError:
    """Return Unavailable, so that work waits until an operator fixes the problem."""
    code = aws_error_code(error)
    if is_aws_forbidden(error):
        return Unavailable(
            f"the secrets {place!r} may not be {deed}",
            cure=f"allow {permission} on it to the function's role",
        )
    if code == "ResourceNotFoundException":
        return Unavailable(
            f"the secret {place!r} does not exist", cure="create it, or correct aws.secrets"
        )
    if code in _MISTYPED:
        return Unavailable(
            f"{place!r} rejected the secret: {code}",
            cure="if a parameter of this name is not a SecureString, delete it and try again",
        )
    return aws_unavailable_error(f"secret store {place!r}", error, permissions=permission)
