"""Address: which server a command speaks to, and with which key.

A key is sent to the address that the user gave with it, or to the one that the data folder names,
and to nobody else. A server on this computer proves first that it runs on that folder: when it has
stopped, another program may listen on its port.
"""

import re
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import typer

from opencrab.domain.errors import Invalid, Refused

DEFAULT_URL = "http://127.0.0.1:8080"
_KEY = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class ServerAddress:
    """A server's base address without a slash at its end, and the key to use there.

    If `folder` is given, the key is sent only after the server has proved that it runs on that data
    folder. `withheld` is the file of a key that is not sent, because it is not for this address.
    """

    url: str
    key: str | None
    folder: Path | None = None
    withheld: Path | None = None

    @property
    def host(self) -> str:
        """The server's host name."""
        return urlsplit(self.url).hostname or ""

    @property
    def is_here(self) -> bool:
        """True if the server runs on this computer."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost" or self.host.endswith(".localhost")

    def is_same_server(self, other: "ServerAddress") -> bool:
        """Check whether both name the same server; names of this computer are equal."""
        if not (self.is_here and other.is_here):
            return self.url == other.url
        mine, its = urlsplit(self.url), urlsplit(other.url)
        return (mine.scheme, mine.port) == (its.scheme, its.port)


def find_server_address(
    *, data: Path, url: str | None = None, key: str | None = None
) -> ServerAddress:
    """Find the server: the given `url`, else the one in `data/endpoint`, else the default."""
    known = _known_address(data)
    given = ServerAddress(_validate_url(url), key or None) if url else None
    if given is None or (not key and known is not None and known.is_same_server(given)):
        address = _address_of_folder(data, known, key)
    else:
        address = given if key else _without_key(data, given)
    if address.key and not _KEY.fullmatch(address.key):
        raise Invalid("the API key contains invalid characters", field="key", cure="copy it again")
    return address


def _known_address(data: Path) -> ServerAddress | None:
    """Return the address in `data/endpoint`; None if nothing runs there."""
    known = read_file_of_server_connection(data / "endpoint")
    return ServerAddress(_validate_url(known), None) if known else None


def _address_of_folder(data: Path, known: ServerAddress | None, key: str | None) -> ServerAddress:
    """Return the address that the folder names, or the default one, with the key for it.

    Only another computer's address, which somebody wrote there by hand, needs no proof.
    """
    address = known or ServerAddress(DEFAULT_URL, None)
    key = key or read_file_of_server_connection(data / "owner.key") or _key_of_dotenv(data)
    by_hand = not address.is_here and not read_file_of_server_connection(data / "instance")
    return replace(address, key=key, folder=None if key is None or by_hand else data)


def _key_of_dotenv(data: Path) -> str | None:
    """Return the owner key of `.env` in the data folder, which the server has registered."""
    text = read_file_of_server_connection(data / ".env")
    if not text:
        return None
    from opencrab.domain.configuration.dotenv import parse_dotenv_text

    return parse_dotenv_text(text)[0].get("OPENCRAB_OWNER_KEY") or None


def _without_key(data: Path, address: ServerAddress) -> ServerAddress:
    file = data / "owner.key"
    return replace(address, withheld=file) if read_file_of_server_connection(file) else address


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


def read_file_of_server_connection(path: Path) -> str:
    """Return a file's text, empty if there is none; raises Refused if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(
            f"{path} cannot be read: {error}", cure="run this as the user who ran `opencrab up`"
        ) from error
