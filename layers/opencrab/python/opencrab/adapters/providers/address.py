"""Which addresses a provider may have: the key must go to the right place, and in secret."""

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from opencrab.domain.errors import Invalid

_METADATA_NAMES = {"metadata.google.internal", "metadata", "instance-data"}
_METADATA_ADDRESSES = {
    ipaddress.ip_address("100.100.100.200"),
    ipaddress.ip_address("fd00:ec2::254"),
}
_SHARED_SPACE = ipaddress.ip_network("100.64.0.0/10")
_LOCAL_SUFFIXES = (".localhost", ".local", ".internal", ".lan", ".home.arpa")
_NUMERIC_LABEL = re.compile(r"(?:\d+|0x[0-9a-f]*)", re.IGNORECASE)

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def checked_base_url(url: str, *, provider: str) -> str:
    """The base URL without a trailing slash, once it is known to be safe.

    Plain http is for this machine and private networks only, since the key travels with every
    request; an address that clouds use for their instances' credentials is refused always.
    """
    parts = _split(url, provider)
    host = parts.hostname or ""
    if parts.scheme not in {"http", "https"} or not host:
        raise _invalid(provider, "must begin with http:// or https:// and name a host")
    if "@" in parts.netloc:
        raise _invalid(provider, "must not contain a user name or password: use api_key")
    if parts.query or parts.fragment:
        raise _invalid(provider, "must end with its path: leave out '?' and '#'")
    if _is_metadata(host, provider):
        raise _invalid(provider, f"must not be the cloud's metadata address {host!r}")
    if parts.scheme == "http" and not is_private(url):
        raise _invalid(provider, f"must use https: {host!r} is not on a private network")
    return url.rstrip("/")


def is_private(url: str) -> bool:
    """Whether the address is this machine or on a private network, as far as its form tells."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    address = _numeric(host)
    if address is not None:
        shared = address.version == 4 and address in _SHARED_SPACE  # noqa: PLR2004  - IPv4
        return address.is_loopback or address.is_private or shared
    return bool(host) and ("." not in host or host.endswith(_LOCAL_SUFFIXES))


def is_this_machine(url: str) -> bool:
    """Whether the address is the very machine that asks."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    address = _numeric(host)
    if address is not None:
        return address.is_loopback or address.is_unspecified
    return host == "localhost" or host.endswith(".localhost")


def _split(url: str, provider: str) -> SplitResult:
    if re.search(r"[\s\x00-\x1f\x7f\\]", url):
        raise _invalid(provider, "must not contain spaces, backslashes or control characters")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise _invalid(provider, "is not a URL") from None
    return parts


def _is_metadata(host: str, provider: str) -> bool:
    """Whether the host hands out credentials; unusual spellings of numbers are refused."""
    name = host.rstrip(".")
    address = _numeric(name)
    if address is None:
        if _NUMERIC_LABEL.fullmatch(name.rpartition(".")[2]):
            raise _invalid(provider, f"has a host that is no usual IP address: {host!r}")
        return name in _METADATA_NAMES
    return address.is_link_local or address in _METADATA_ADDRESSES


def _numeric(host: str) -> _Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _invalid(provider: str, problem: str) -> Invalid:
    return Invalid(
        f"the base_url of provider {provider!r} {problem}",
        field=f"llm.providers.{provider}.base_url",
        cure=f"correct base_url in [llm.providers.{provider}]",
    )
