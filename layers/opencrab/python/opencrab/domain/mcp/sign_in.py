"""Signing in at an MCP server: what is stored of it, and what a server may say about it.

Scopes and addresses come from a server. None of them is in an error, which a model may read.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from urllib.parse import SplitResult, urlsplit

from pydantic import Field

from opencrab.domain.value import Value

SIGN_IN_KIND = "mcp_sign_in"
"""The kind of the documents with the sign-in at one server each, by its name."""

SIGN_IN_ATTEMPT_KIND = "mcp_sign_in_attempt"
"""The kind of the documents with a sign-in under way, one for a server."""

_URL = 2_048
_SCOPE = 1_000
_SCOPE_TOKEN = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
_OF_URLS = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+")
_HOST = re.compile(r"[a-z0-9.-]+|[0-9a-f:.]+")
_PARAMETER = re.compile(r'(?:^|[\s,])([a-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))')
_PORTS = {"https": 443, "http": 80}


class McpSignInState(StrEnum):
    """State of the sign-in at a server: `needed` waits for its owner, and so does `more_scope`.

    With `more_scope` what the owner allowed goes on, and the server asks for more.
    """

    NONE = "none"
    NEEDED = "needed"
    SIGNED_IN = "signed_in"
    MORE_SCOPE = "more_scope"


class McpSignInRecord(Value):
    """The stored sign-in at one server; tokens are in `sealed` alone, encrypted.

    `identity` is the server's when it was written: at another address it does not count.
    `wanted_scope` is what the server asked for last. `ends_at` is set if nothing renews the token
    before that. Until `leased_until` one process renews it, and the others wait.
    """

    identity: str
    state: McpSignInState = McpSignInState.NEEDED
    issuer: str = ""
    scope: str = ""
    wanted_scope: str = ""
    since: datetime | None = None
    ends_at: datetime | None = None
    leased_until: datetime | None = None
    sealed: str = Field(default="", repr=False)


class McpSignInAttempt(Value):
    """A sign-in that its owner began; what proves the way back is in `sealed`, encrypted."""

    expires_at: datetime
    sealed: str = Field(repr=False)


class McpGrant(Value):
    """What an authorization server gave for one server; it is stored only encrypted.

    `server`, `resource` and `issuer` say what the tokens are for: they go nowhere else.
    """

    server: str
    resource: str
    issuer: str
    token_endpoint: str
    revocation_endpoint: str = ""
    client_id: str
    client_secret: str = Field(default="", repr=False)
    client_method: str = "none"
    scope: str = ""
    access_token: str = Field(default="", repr=False)
    refresh_token: str = Field(default="", repr=False)
    expires_at: datetime | None = None


class McpPendingGrant(Value):
    """What a sign-in needs on its way back; it is stored only encrypted."""

    grant: McpGrant
    state: str = Field(repr=False)
    verifier: str = Field(repr=False)
    redirect_uri: str
    needs_issuer: bool = False


class McpChallenge(Value):
    """What a server said with a 401 or 403: where it is described, and the scope that it wants."""

    resource_metadata: str = ""
    scope: str = ""
    error: str = ""


def parse_mcp_challenge(headers: Iterable[bytes]) -> McpChallenge:
    """Read the Bearer challenge of `WWW-Authenticate` headers; what is odd in it is left out."""
    for header in headers:
        text = header[: 4 * _URL].decode("latin-1")
        found = re.search(r"(?:^|,)\s*bearer(?:\s+|$)", text, re.IGNORECASE)
        if found is None:
            continue
        said = dict[str, str]()
        for name, quoted, plain in _PARAMETER.findall(text[found.end() :]):
            said.setdefault(name, re.sub(r"\\(.)", r"\1", quoted) or plain)
        url, error = said.get("resource_metadata", ""), said.get("error", "")
        return McpChallenge(
            resource_metadata=url if split_mcp_url(url) else "",
            scope=plain_mcp_scope(said.get("scope", "")),
            error=error if re.fullmatch("[a-z_]{1,40}", error) else "",
        )
    return McpChallenge()


def plain_mcp_scope(*texts: str) -> str:
    """Return scopes one after the other without repetition; one that is odd is left out."""
    tokens = (each for text in texts for each in text.split(" ") if _SCOPE_TOKEN.fullmatch(each))
    joined = ""
    for token in dict.fromkeys(tokens):
        longer = f"{joined} {token}".strip()
        if len(longer) > _SCOPE:
            break
        joined = longer
    return joined


def split_mcp_url(url: str) -> SplitResult | None:
    """Return the parts of an absolute URL of http or https; None for anything that is odd.

    Odd are user names, fragments, characters that no URL has, and odd hosts.
    """
    if len(url) > _URL or not _OF_URLS.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    host = parts.hostname or ""
    is_plain = _HOST.fullmatch(host) is not None and "@" not in parts.netloc
    return parts if parts.scheme in _PORTS and is_plain and "#" not in url else None


def origin_of_mcp_url(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of a URL; None for one that is odd."""
    parts = split_mcp_url(url)
    if parts is None:
        return None
    return (
        parts.scheme,
        (parts.hostname or "").removesuffix("."),
        parts.port or _PORTS[parts.scheme],
    )


def mcp_resource_covers(resource: str, url: str) -> bool:
    """Check that a resource is a server's address, or a folder above it on the same origin."""
    found, asked = split_mcp_url(resource), split_mcp_url(url)
    if found is None or asked is None or origin_of_mcp_url(resource) != origin_of_mcp_url(url):
        return False
    above, path = found.path.rstrip("/"), asked.path.rstrip("/")
    is_same = above == path and found.query in {"", asked.query}
    return is_same or (not found.query and path.startswith(f"{above}/"))
