"""Secrets of SSM or Secrets Manager for the door, read one at a time without an SDK."""

import json
import ssl
from collections.abc import Callable, Mapping

from opencrab.adapters.door.aws import PlainAws, plain_aws, require_variable

KEPT_SECONDS, ABSENT_SECONDS = 300.0, 10.0

_SSM, _SECRETS_MANAGER = "ssm", "secretsmanager"


class PlainSecrets:
    """Secrets by name from where `aws.secrets` says, each kept for five minutes.

    That one is absent is kept for seconds: whoever sets the channel up stores it now.
    """

    def __init__(
        self, aws: PlainAws, place: str, now: Callable[[], float], *, seconds: float
    ) -> None:
        self._aws = aws
        self._kind, _, self._place = place.partition(":")
        self._now = now
        self._seconds = seconds
        self._kept: dict[str, tuple[str, float]] = {}

    def get(self, name: str) -> str:
        """Return a secret; "" if it is not set. Raises Unavailable."""
        value, until = self._kept.get(name, ("", 0.0))
        if self._now() >= until:
            value = self._read(name)
            self._kept[name] = value, self._now() + (KEPT_SECONDS if value else ABSENT_SECONDS)
        return value

    def _read(self, name: str) -> str:
        if self._kind == _SECRETS_MANAGER:
            given = {"SecretId": self._place}
            found = self._aws.call("secretsmanager.GetSecretValue", given, seconds=self._seconds)
            try:
                value = json.loads(found.get("SecretString", "{}")).get(name)
            except (ValueError, AttributeError):
                value = None
            return value if isinstance(value, str) else ""
        given = {"Names": [f"{self._place.rstrip('/')}/{name}"], "WithDecryption": True}  # type: ignore[dict-item]
        found = self._aws.call("AmazonSSM.GetParameters", given, seconds=self._seconds)
        return next((str(each["Value"]) for each in found.get("Parameters", ())), "")


def plain_secrets(
    environment: Mapping[str, str],
    now: Callable[[], float],
    *,
    trust: ssl.SSLContext,
    seconds: float,
) -> PlainSecrets:
    """Return the secrets that the environment names; raises Invalid for a missing variable."""
    place = require_variable(environment, "OPENCRAB_AWS__SECRETS")
    service = _SECRETS_MANAGER if place.startswith(_SECRETS_MANAGER) else _SSM
    aws = plain_aws(environment, service, now, trust=trust)
    return PlainSecrets(aws, place, now, seconds=seconds)
