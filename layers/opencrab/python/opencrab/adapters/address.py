"""Addresses: which base URLs a key may be sent to, and which numbers lie on the public internet.

Rules that every adapter may use; it knows none of them.
"""

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from opencrab.domain.errors import Invalid

LOCAL_SUFFIXES = (".localhost", ".local", ".internal", ".lan", ".home.arpa")

_METADATA_NAMES = {"metadata.google.internal", "metadata.goog", "metadata"}
_METADATA_LABEL = "instance-data"
_METADATA_NETWORKS = tuple(
    map(
        ipaddress.ip_network,
        ("100.100.100.200/32", "fd00:ec2::/32", "fd20:ce::254/128", "fd00:c1::a9fe:a9fe/128"),
    )
)
_SHARED_SPACE = ipaddress.ip_network("100.64.0.0/10")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
            *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24"),
            *("192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
            *("224.0.0.0/3", "2001::/23", "2001:db8::/32", "3fff::/20"),
            "168.63.129.16/32",  # Azure's own host, seen from its machines only
        ),
    )
)
"""IANA's special-purpose registries; Python's own list depends on its version."""

_LONGEST_NAME = 253
_NAME = re.compile(r"[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})*\.?", re.IGNORECASE)
_PLACE = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::[0-9]*)?", re.IGNORECASE)
_CORRECT = "correct {}, as in https://api.example.com/v1"
_PUNYCODE = (
    "use letters a to z, digits, '-' and '.', or an IPv6 address in brackets; "
    "write a name in another script in punycode, as in xn--r8jz45g.jp"
)
_NUMERIC_LABEL = re.compile(r"(?:\d+|0x[0-9a-f]*)", re.IGNORECASE)

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class BaseUrlRules:
    """Safety rules for one base URL.

    Args:
        whose: The owner of the URL, as error messages name it.
        field: The setting that holds the URL.
        names: Its name, and that of the setting beside it that holds the key.
    """

    def __init__(
        self, whose: str, field: str, names: tuple[str, str] = ("base_url", "api_key")
    ) -> None:
        self._whose = whose
        self._field = field
        self._name, self._key = names

    def validate(self, url: str) -> str:
        """Return the base URL without a trailing slash; raise Invalid if it is unsafe.

        Plain http is allowed for this machine and private networks only, since each request carries
        the key. Addresses of cloud metadata services, which hand out credentials, are always
        rejected.
        """
        parts = self._split(url)
        host = parts.hostname or ""
        if parts.scheme not in {"http", "https"} or not host:
            raise self._invalid("must begin with http:// or https:// and have a host")
        if "@" in parts.netloc:
            raise self._invalid(f"must not contain a user name or password: use {self._key}")
        if parts.query or parts.fragment:
            raise self._invalid("must end with its path: remove '?' and '#'")
        if not _is_plain(parts.netloc):
            raise self._invalid("has an invalid host", _PUNYCODE)
        if self._is_metadata(host):
            raise self._invalid(f"must not be the cloud's metadata address {host!r}")
        if parts.scheme == "http" and not is_private_url_address(url):
            raise self._invalid(f"must use https: {host!r} is not on a private network")
        return url.rstrip("/")

    def _split(self, url: str) -> SplitResult:
        if re.search(r"[\s\x00-\x1f\x7f\\]", url):
            raise self._invalid("must not contain spaces, backslashes or control characters")
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError:
            raise self._invalid("is not a URL") from None
        return parts

    def _is_metadata(self, host: str) -> bool:
        """Check for a cloud metadata host; raise Invalid for unusual spellings of IP addresses."""
        name = host.removesuffix(".")
        address = _numeric(name)
        if address is None:
            if _NUMERIC_LABEL.fullmatch(name.rpartition(".")[2]):
                raise self._invalid(f"has an unusual IP address as host: {host!r}")
            return name in _METADATA_NAMES or name.partition(".")[0] == _METADATA_LABEL
        return address.is_link_local or any(address in network for network in _METADATA_NETWORKS)

    def _invalid(self, problem: str, cure: str = _CORRECT) -> Invalid:
        return Invalid(
            f"the {self._name} of {self._whose} is invalid: {problem}",
            field=self._field,
            cure=cure.format(self._name),
        )


def is_public_ip_address(number: str) -> bool:
    """Check whether an IP address is publicly routable.

    An IPv6 address that embeds an IPv4 address (mapped, 6to4, NAT64) is judged by the IPv4 address.
    """
    address = None if "%" in number else _numeric(number)
    if address is None or any(
        address in network for network in _NOT_PUBLIC if network.version == address.version
    ):
        return False
    return isinstance(address, ipaddress.IPv4Address) or address in _GLOBAL_UNICAST


def is_private_url_address(url: str) -> bool:
    """Check, by its form alone, whether a URL's host is local or on a private network."""
    host = _host(url)
    address = _numeric(host)
    if address is not None:
        shared = address.version == 4 and address in _SHARED_SPACE  # noqa: PLR2004  - IPv4
        return address.is_loopback or address.is_private or shared
    return bool(host) and ("." not in host or host.endswith(LOCAL_SUFFIXES))


def is_url_of_this_machine(url: str) -> bool:
    """Check whether a URL's host is the local machine (loopback or `localhost`)."""
    host = _host(url)
    address = _numeric(host)
    if address is not None:
        return address.is_loopback or address.is_unspecified
    return host == "localhost" or host.endswith(".localhost")


def _host(url: str) -> str:
    """Return the URL's host without a final dot, or "" if the host has an unsupported form."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return (parts.hostname or "").removesuffix(".") if _is_plain(place) else ""


def _is_plain(place: str) -> bool:
    """Check that a host, with or without a port, resolves to the name that a reader sees.

    Other scripts have characters that name resolution reads as dots and digits.
    """
    found = _PLACE.fullmatch(place)
    if found is None:
        return False
    host = found["host"]
    if host.startswith("["):
        return _numeric(host[1:-1]) is not None
    return len(host) <= _LONGEST_NAME and _NAME.fullmatch(host) is not None


def _numeric(host: str) -> _Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return address if isinstance(address, ipaddress.IPv4Address) else _inner(address)


def _inner(address: ipaddress.IPv6Address) -> _Address:
    """Return the IPv4 address embedded in an IPv6 address, or the IPv6 address itself."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
