"""Signatures of AWS, version 4, over the exact bytes of a request to OpenSearch Serverless.

The service is named `aoss`, and unlike most others it wants the hash of the body as a header of
its own that is signed as well (elasticsearch-dump#1019 met that). The length of the body must not
be signed.
"""

import hashlib
import hmac
import re
from collections.abc import Callable
from datetime import datetime
from typing import Protocol
from urllib.parse import quote

import httpx

SERVICE = "aoss"
_ALGORITHM = "AWS4-HMAC-SHA256"
_PORTS = {b"https": 443, b"http": 80}


class Credentials(Protocol):
    """What a role has at one moment, as botocore's frozen credentials have it."""

    @property
    def access_key(self) -> str:
        """Its public half."""

    @property
    def secret_key(self) -> str:
        """Its secret half, which is never sent."""

    @property
    def token(self) -> str | None:
        """What temporary credentials must show besides."""


CredentialsNow = Callable[[], Credentials]
"""Asked for each request: temporary credentials lapse within hours."""


def signed(
    request: httpx.Request, body: bytes, credentials: Credentials, region: str, now: datetime
) -> dict[str, str]:
    """The headers that sign a request with this body, to be sent with it as they are."""
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    content = hashlib.sha256(body).hexdigest()
    headers = {"host": _host(request.url), "x-amz-content-sha256": content, "x-amz-date": stamp}
    if credentials.token:
        headers["x-amz-security-token"] = credentials.token
    names = ";".join(sorted(headers))
    canonical = "\n".join(
        (
            request.method.upper(),
            _path(request.url),
            _query(request.url),
            *(f"{name}:{_spaced(headers[name])}" for name in sorted(headers)),
            "",
            names,
            content,
        )
    )
    scope = f"{stamp[:8]}/{region}/{SERVICE}/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{credentials.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    told = f"{_ALGORITHM}\n{stamp}\n{scope}\n{digest}"
    signature = hmac.new(key, told.encode(), hashlib.sha256).hexdigest()
    credential = f"{credentials.access_key}/{scope}"
    headers["authorization"] = (
        f"{_ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
    )
    return headers


def _host(url: httpx.URL) -> str:
    usual = url.port is None or _PORTS.get(url.raw_scheme) == url.port
    host = url.raw_host.decode("ascii")
    host = f"[{host}]" if ":" in host else host
    return host if usual else f"{host}:{url.port}"


def _path(url: httpx.URL) -> str:
    """The path as it is sent, without steps and double slashes, escaped once more."""
    path = url.raw_path.split(b"?", 1)[0].decode("ascii")
    kept: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del kept[-1:]
        elif part not in {"", "."}:
            kept.append(part)
    last = "/" if kept and path.endswith("/") else ""
    return quote(f"/{'/'.join(kept)}{last}", safe="/~")


def _query(url: httpx.URL) -> str:
    """The parameters as they are sent, in the order of their names."""
    pairs = [part.partition("=") for part in url.query.decode("ascii").split("&")]
    listed = sorted((name, value) for name, _, value in pairs)
    return "&".join(f"{name}={value}" for name, value in listed) if url.query else ""


def _spaced(value: str) -> str:
    return re.sub(r"\s+", " ", value).strip()
