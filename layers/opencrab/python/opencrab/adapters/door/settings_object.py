"""The settings file in the installation's bucket, read without an SDK: its client loads slowly."""

import hashlib
import ssl
from collections.abc import Callable, Mapping
from typing import NamedTuple

from opencrab.adapters.door.aws import Credentials, Signer, require_variable
from opencrab.adapters.door.http import HttpResponse, PlainHttp
from opencrab.domain.errors import Unavailable

_SERVICE = "s3"
_NOTHING = hashlib.sha256(b"").hexdigest()
_OK, _SAME, _FORBIDDEN, _GONE = 200, 304, 403, 404
_DENIED = b"<Code>AccessDenied</Code>"


class StoredSettings(NamedTuple):
    """The content of a settings object, and its entity tag."""

    content: bytes
    etag: str


class SettingsObject:
    """One object of the bucket, which is asked for on the condition that it has changed."""

    def __init__(
        self,
        http: PlainHttp,
        signer: Callable[[], Signer],
        path: str,
        now: Callable[[], float],
        *,
        seconds: float,
    ) -> None:
        self._http = http
        self._signer = signer
        self._path = path
        self._now = now
        self._seconds = seconds

    def read(self, etag: str = "") -> StoredSettings | None:
        """Return the object, or None if its tag is still `etag`; "" is the tag of no object.

        Without the right to list a bucket, S3 denies access to what is not there, which is taken
        for an error if there was an object before. Another 403, such as for a clock that is wrong
        or for credentials, says nothing about the object. Raises Unavailable.
        """
        answered = self._ask(etag)
        if answered.status == _SAME or (not etag and _is_absent(answered)):
            return None
        if answered.status == _GONE:
            return StoredSettings(b"", "")
        if answered.status != _OK:
            raise Unavailable(
                f"the settings file cannot be read: S3 returned {answered.status}",
                cure="wait and try again",
            )
        return StoredSettings(answered.content, answered.etag)

    def _ask(self, etag: str) -> HttpResponse:
        headers = {"host": self._http.host, "x-amz-content-sha256": _NOTHING}
        if etag:
            headers["if-none-match"] = etag
        signed = self._signer().sign(f"GET\n{self._path}\n", headers, _NOTHING, self._now())
        return self._http.get(self._path, signed, seconds=self._seconds)


def _is_absent(answered: HttpResponse) -> bool:
    """Check whether S3 says that there is no object, as far as a process without it can tell."""
    denied = answered.status == _FORBIDDEN and _DENIED in answered.content
    return denied or answered.status == _GONE


def settings_object_in_bucket(
    environment: Mapping[str, str],
    bucket: str,
    key: str,
    now: Callable[[], float],
    *,
    trust: ssl.SSLContext,
    seconds: float,
) -> SettingsObject:
    """Return an object of a bucket, as a function reads it; raises Invalid for its environment."""
    region = environment.get("AWS_REGION") or require_variable(environment, "AWS_DEFAULT_REGION")
    credentials = function_credentials(environment, now)
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    special = environment.get(f"AWS_ENDPOINT_URL_{_SERVICE.upper()}") or environment.get(
        "AWS_ENDPOINT_URL"
    )
    # A name with a dot fits no certificate of S3's, and another server knows no names of buckets.
    if special or "." in bucket:
        url, path = special or f"https://s3.{region}.{domain}", f"/{bucket}/{key}"
    else:
        url, path = f"https://{bucket}.s3.{region}.{domain}", f"/{key}"

    def signer() -> Signer:
        return Signer(_SERVICE, region, credentials())

    return SettingsObject(PlainHttp(url, trust), signer, path, now, seconds=seconds)


def function_credentials(
    environment: Mapping[str, str], now: Callable[[], float]
) -> Callable[[], Credentials]:
    """Return what returns valid credentials; it asks nobody before it is called.

    Raises Invalid if the environment names none; what it returns may raise Unavailable.
    """
    has_server = "AWS_CONTAINER_CREDENTIALS_FULL_URI" in environment
    if has_server and not environment.get("AWS_ACCESS_KEY_ID"):
        from opencrab.adapters.door.credentials import (  # noqa: PLC0415 - with SnapStart only
            ServedCredentials,
        )

        return ServedCredentials(environment, now)
    credentials = Credentials(
        require_variable(environment, "AWS_ACCESS_KEY_ID"),
        require_variable(environment, "AWS_SECRET_ACCESS_KEY"),
        environment.get("AWS_SESSION_TOKEN", ""),
    )
    return lambda: credentials
