"""Origins: the scheme, host and port that a key was given for, and a seal that ties both."""

from hashlib import sha256
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}


def origin_of(url: str) -> str:
    """Scheme, host and port of an address; the text itself when it is none."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError:
        return url
    scheme = parts.scheme
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{port or _PORTS.get(scheme, 0)}" if host else url


def key_origin_seal(origin: str, key: str) -> str:
    """What tells whether a key is the one that was given for an origin, without the key."""
    return sha256(f"{origin}\n{key}".encode("utf-8", "surrogatepass")).hexdigest()
