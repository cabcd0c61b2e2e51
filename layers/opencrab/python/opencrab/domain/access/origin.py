"""Origins: the scheme, host and port that a key was given for, and a seal that ties both."""

from hashlib import sha256
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}


def browser_origin_of_url(url: str) -> str:
    """Return the scheme, host and port of a URL, or the text itself if it has no host."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError:
        return url
    scheme = parts.scheme
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{port or _PORTS.get(scheme, 0)}" if host else url


def key_origin_seal(origin: str, key: str) -> str:
    """Compute a hash that shows whether a key was given for an origin, without storing the key.

    SHA-256 of origin and key, in hexadecimal.
    """
    return sha256(f"{origin}\n{key}".encode("utf-8", "surrogatepass")).hexdigest()
