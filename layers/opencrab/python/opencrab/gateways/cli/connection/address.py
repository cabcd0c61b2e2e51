"""Address: which server a command speaks to, and with which key.

The key that `opencrab up` made is for the server that made it: it is sent to this computer, or to
the address that the same folder names, and to nobody else.
"""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import typer

from opencrab.domain.errors import Invalid, Refused

DEFAULT_URL = "http://127.0.0.1:8080"
_KEY = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class ServerAddress:
    """A server's base address without a slash at its end, and the key to use there."""

    url: str
    key: str | None

    @property
    def host(self) -> str:
        """The server's host name."""
        return urlsplit(self.url).hostname or ""

    @property
    def is_here(self) -> bool:
        """Whether the server runs on this computer."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost" or self.host.endswith(".localhost")


def find_server_address(
    *, data: Path, url: str | None = None, key: str | None = None
) -> ServerAddress:
    """What was said, else what `opencrab up` wrote, else the usual address."""
    known = _content(data / "endpoint")
    place = _validate_url(url or known or DEFAULT_URL)
    address = ServerAddress(place, key or None)
    if address.key is None and (address.is_here or (known and place == _validate_url(known))):
        address = ServerAddress(place, _content(data / "owner.key") or None)
    if address.key and not _KEY.fullmatch(address.key):
        raise Invalid("the API key contains invalid characters", field="key", cure="copy it again")
    return address


def _validate_url(url: str) -> str:
    url = url.strip().rstrip("/").removesuffix("/api")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or any(character.isspace() for character in url):
        message = f"{url!r} is not an address such as {DEFAULT_URL}"
        raise typer.BadParameter(message, param_hint="--url")
    return url


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(
            f"{path} cannot be read: {error}", cure="run this as the user who ran `opencrab up`"
        ) from error
