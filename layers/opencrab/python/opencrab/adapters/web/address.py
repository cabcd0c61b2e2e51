"""Addresses of pages, read strictly and written in one way, and the list of those allowed.

One parser reads what a model wrote, what a server redirects to and what the operator allows; what
is requested is put together from what it understood, so that nobody can understand it otherwise.
"""

import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

from opencrab.adapters.address import LOCAL_SUFFIXES
from opencrab.domain.errors import Invalid

LONGEST = 2_048
_LONGEST_NAME = 253
_PORTS = {"https": 443, "http": 80}

_URL = re.compile(
    r"(?P<scheme>https?)://(?P<place>[^/?#]+)(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?:#.*)?",
    re.IGNORECASE | re.DOTALL,
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])")
"""Two labels or more, of which the last is no number."""

_NOT_OUTSIDE = (
    *LOCAL_SUFFIXES,
    *(".arpa", ".corp", ".home", ".intranet", ".localdomain", ".onion", ".private"),
)
_ODD = {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_LEGAL = "!$%&'()*+,-./:;=?@[]_~"
_DECEIVING = re.compile(r"%(?:[01][0-9A-F]|7F|2F|5C|25(?:2[EF]|5C|25))", re.IGNORECASE)
"""Escaped control characters, slashes, backslashes, and escapes of escapes."""

_WILDCARD = re.compile(r"(https?://)\*\.(.*)", re.IGNORECASE | re.DOTALL)
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True)
class Address:
    """The normalized URL of a page: public host name, path without dot segments, and query."""

    scheme: str
    host: str
    path: str
    query: str = ""

    @classmethod
    def of(cls, url: str) -> "Address":
        """Parse a URL, without its fragment; raise Invalid, without quoting the URL."""
        if len(url) > LONGEST:
            raise _invalid(f"is longer than {LONGEST} characters")
        if "\\" in url or any(unicodedata.category(character) in _ODD for character in url):
            raise _invalid("contains a space, a backslash or an invisible character")
        found = _URL.fullmatch(url)
        if found is None:
            raise _invalid("does not begin with https:// and a host")
        scheme = found["scheme"].translate(_LOWER)
        path, query = _path(found["path"] or "/"), _percent_encode(found["query"] or "")
        address = cls(scheme, _host(found["place"], _PORTS[scheme]), path, query)
        if len(address.url) > LONGEST:
            raise _invalid(f"is longer than {LONGEST} characters")
        return address

    @property
    def url(self) -> str:
        """The normalized URL."""
        return f"{self.scheme}://{self.host}{self.path}{self.query}"

    @property
    def port(self) -> int:
        """The port, 443 or 80, by the scheme."""
        return _PORTS[self.scheme]

    def resolve(self, location: str) -> "Address":
        """Resolve the Location header of a redirect; raise Invalid."""
        origin = f"{self.scheme}://{self.host}"
        if _SCHEME.match(location):
            return Address.of(location)
        if location.startswith("//"):
            return Address.of(f"{self.scheme}:{location}")
        if location.startswith("/"):
            return Address.of(origin + location)
        if location.startswith("?"):
            return Address.of(origin + self.path + location)
        return Address.of(f"{origin}{self.path.rpartition('/')[0]}/{location}")


@dataclass(frozen=True)
class _Entry:
    """One allowed prefix; `below` means all subdomains of its host, without the host itself."""

    prefix: Address
    below: bool

    @classmethod
    def of(cls, text: str) -> "_Entry":
        wild = _WILDCARD.fullmatch(text)
        address = Address.of(wild[1] + wild[2] if wild else text)
        if address.query or "#" in text:
            raise _invalid("must not have '?' or '#'")
        return cls(address, below=wild is not None)

    @property
    def text(self) -> str:
        prefix = self.prefix
        return f"{prefix.scheme}://{'*.' if self.below else ''}{prefix.host}{prefix.path}"

    def covers(self, address: Address) -> bool:
        host, path = self.prefix.host, self.prefix.path
        is_host = address.host.endswith(f".{host}") if self.below else address.host == host
        folder = path if path.endswith("/") else f"{path}/"
        is_below = address.path == path or address.path.startswith(folder)
        return address.scheme == self.prefix.scheme and is_host and is_below


class AllowList:
    """The URL prefixes that the operator allows; raises Invalid for a malformed one."""

    def __init__(self, prefixes: Iterable[str]) -> None:
        entries = [_parse_allow_entry(prefix) for prefix in prefixes]
        self._entries = sorted(entries, key=lambda entry: len(entry.prefix.path), reverse=True)

    def __str__(self) -> str:
        return ", ".join(sorted(entry.text for entry in self._entries))

    def prefix(self, address: Address) -> str | None:
        """Return the longest prefix that covers an address; None without one."""
        return next((entry.text for entry in self._entries if entry.covers(address)), None)


def _parse_allow_entry(prefix: str) -> _Entry:
    try:
        return _Entry.of(prefix)
    except Invalid as error:
        raise Invalid(
            f"the entry {prefix!r} of web.allow cannot be used: {error.message}",
            field="web.allow",
            cure="write it like https://docs.python.org/3/ or https://*.example.org/",
        ) from None


def _host(place: str, port: int) -> str:
    name, colon, given = place.partition(":")
    if colon and given != str(port):
        raise _invalid("has a user name, an IP address, or a port other than 443 or 80")
    host = _ascii(name.translate(_LOWER)).removesuffix(".")
    if len(host) > _LONGEST_NAME or not _NAME.fullmatch(host):
        raise _invalid("has a host that is not a plain internet name")
    if host.endswith(_NOT_OUTSIDE):
        raise _invalid("has a host that is not on the internet")
    return host


def _ascii(name: str) -> str:
    """Convert a name to punycode; raise Invalid if name resolution could read another name."""
    if name.isascii():
        return name
    if len(name) <= _LONGEST_NAME:
        with suppress(UnicodeError):
            written = name.encode("idna")
            if written.decode("idna") == name:
                return written.decode("ascii")
    raise _invalid("has a host with unusual characters: write it in punycode")


def _path(text: str) -> str:
    """Normalize a path; raise Invalid for dot segments and ambiguous escapes.

    Approvals and grants compare prefixes of addresses, so a path must have one meaning only.
    """
    path = _percent_encode(text)
    if _DECEIVING.search(path):
        raise _invalid("has an escaped slash, percent sign or control character in its path")
    try:
        unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        raise _invalid("has a path that is not in UTF-8") from None
    if any(segment.partition(";")[0] in {".", ".."} for segment in path.split("/")):
        raise _invalid("has '.' or '..' in its path")
    return path or "/"


def _percent_encode(text: str) -> str:
    """Percent-encode a part of a URL, with escapes only where they are needed."""
    if _BROKEN_ESCAPE.search(text):
        raise _invalid("contains an invalid percent-escape")

    def plain(found: re.Match[str]) -> str:
        character = chr(int(found[1], 16))
        return character if _UNRESERVED.fullmatch(character) else found[0].upper()

    return _ESCAPE.sub(plain, quote(text, safe=_LEGAL))


def _invalid(problem: str) -> Invalid:
    return Invalid(
        f"the address {problem}", field="url", cure="write it like https://example.org/page"
    )
