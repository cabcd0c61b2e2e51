"""A list of a server on this computer, read with Python's own HTTP client.

httpx takes a quarter of a second to load, which is too long while somebody types. The key goes only
to the server that proves that it runs on the data folder, as `proven_key` says.
"""

import http.client
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from opencrab.domain.access.instance import (
    CHALLENGE_CHARACTERS,
    CHALLENGE_HEADER,
    is_instance_access_proof,
)
from opencrab.domain.errors import Refused, Unavailable
from opencrab.gateways.cli.connection.address import ServerAddress, read_file_of_server_connection

_OK = 200
_PAGE = 100
_LARGEST = 10 * 2**20


def list_over_server_connection(
    address: ServerAddress, name: str, seconds: float
) -> Iterator[dict[str, Any]]:
    """Yield the items of a list below /api, each answer within so many seconds.

    Raises Refused if the server does not prove itself, Unavailable for another answer, OSError and
    HTTPException if the connection fails.
    """
    cursor = ""
    while True:
        after = f"&cursor={quote(cursor, safe='')}" if cursor else ""
        page = _page(address, f"/api/{name}?limit={_PAGE}{after}", seconds)
        yield from page.get("items", ())
        cursor = page.get("next_cursor") or ""
        if not cursor:
            return


def require_server_of_folder(address: ServerAddress, folder: Path, seconds: float) -> None:
    """Raise Refused unless the server at an address proves that it runs on a data folder.

    Raises OSError and HTTPException if nobody answers.
    """
    parts = urlsplit(address.url)
    connection = http.client.HTTPConnection(address.host, parts.port, timeout=seconds)
    try:
        _require_proof(connection, address, folder)
    finally:
        connection.close()


def _page(address: ServerAddress, path: str, seconds: float) -> dict[str, Any]:
    """Ask for a page over the connection on which the server of a folder proved itself.

    Over another one it could be somebody else who listens on its port by now.
    """
    parts = urlsplit(address.url)
    secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = kind(address.host, parts.port, timeout=seconds)
    try:
        headers = {}
        if address.key is not None:
            if address.folder is not None:
                _require_proof(connection, address, address.folder)
            headers = {"Authorization": f"Bearer {address.key}"}
        return _get(connection, address, path, headers)
    finally:
        connection.close()


def _require_proof(
    connection: http.client.HTTPConnection, address: ServerAddress, folder: Path
) -> None:
    secret = read_file_of_server_connection(folder / "instance")
    if not secret:
        raise Refused("no server runs on this data folder")
    challenge = secrets.token_hex(CHALLENGE_CHARACTERS // 2)
    health = _get(connection, address, "/api/health", {CHALLENGE_HEADER: challenge})
    connection.auto_open = 0  # from here on this connection or none
    if not is_instance_access_proof(health.get("proof"), secret, challenge):
        raise Refused("the server does not run on this data folder")


def _get(
    connection: http.client.HTTPConnection,
    address: ServerAddress,
    path: str,
    headers: dict[str, str],
) -> dict[str, Any]:
    shared = {"Accept": "application/json", "X-OpenCrab-Client": "cli"}
    connection.request("GET", f"{urlsplit(address.url).path}{path}", headers=shared | headers)
    response = connection.getresponse()
    content = response.read(_LARGEST)
    value = json.loads(content) if response.status == _OK else None
    if not isinstance(value, dict):
        raise Unavailable(f"unexpected answer of {address.url}: {response.status}")
    return value
