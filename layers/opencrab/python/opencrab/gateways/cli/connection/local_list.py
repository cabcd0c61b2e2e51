"""A list of a server on this computer, read with Python's own HTTP client.

httpx takes a quarter of a second to load, which is too long while somebody types. The key goes only
to the server that proves that it runs on the data folder, as `proven_key` says.
"""

import http.client
import json
import secrets
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

from opencrab.domain.access.instance import (
    CHALLENGE_CHARACTERS,
    CHALLENGE_HEADER,
    is_instance_access_proof,
)
from opencrab.domain.errors import Refused, Unavailable
from opencrab.gateways.cli.connection.address import ServerAddress, read_connection_data_file

_OK = 200
_PAGE = 100
_LARGEST = 10 * 2**20


def items_of_local_server(
    address: ServerAddress, name: str, seconds: float
) -> Iterator[dict[str, Any]]:
    """Yield the items of a list below /api, each answer within so many seconds.

    Raises Refused if the server does not prove itself, Unavailable for another answer, OSError and
    HTTPException if the connection fails.
    """
    cursor = ""
    while True:
        headers = _authorization(address, seconds)
        after = f"&cursor={quote(cursor, safe='')}" if cursor else ""
        page = _get(address, f"/api/{name}?limit={_PAGE}{after}", headers, seconds)
        yield from page.get("items", ())
        cursor = page.get("next_cursor") or ""
        if not cursor:
            return


def _authorization(address: ServerAddress, seconds: float) -> dict[str, str]:
    """Return the header with the key; asks the server of a folder for its proof before."""
    if address.key is None:
        return {}
    if address.folder is not None:
        secret = read_connection_data_file(address.folder / "instance")
        if not secret:
            raise Refused("no server runs on this data folder")
        challenge = secrets.token_hex(CHALLENGE_CHARACTERS // 2)
        health = _get(address, "/api/health", {CHALLENGE_HEADER: challenge}, seconds)
        if not is_instance_access_proof(health.get("proof"), secret, challenge):
            raise Refused("the server does not run on this data folder")
    return {"Authorization": f"Bearer {address.key}"}


def _get(
    address: ServerAddress, path: str, headers: dict[str, str], seconds: float
) -> dict[str, Any]:
    parts = urlsplit(address.url)
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(address.host, parts.port, timeout=seconds)
    else:
        connection = http.client.HTTPConnection(address.host, parts.port, timeout=seconds)
    shared = {"Accept": "application/json", "X-OpenCrab-Client": "cli"}
    try:
        connection.request("GET", f"{parts.path}{path}", headers=shared | headers)
        response = connection.getresponse()
        value = json.loads(response.read(_LARGEST)) if response.status == _OK else None
    finally:
        connection.close()
    if not isinstance(value, dict):
        raise Unavailable(f"unexpected answer of {address.url}: {response.status}")
    return value
