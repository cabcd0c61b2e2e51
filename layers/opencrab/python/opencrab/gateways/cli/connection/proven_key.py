"""ProvenKey: sends a key to the server that runs on a data folder, and to nobody else."""

import json
import secrets
from collections.abc import Callable, Generator

import httpx

from opencrab.domain.access.instance import (
    CHALLENGE_CHARACTERS,
    CHALLENGE_HEADER,
    is_instance_access_proof,
)
from opencrab.domain.errors import OpenCrabError
from opencrab.gateways.cli.connection.address import ServerAddress, read_file_of_server_connection

HEALTH = "/api/health"


class ProvenKey(httpx.Auth):
    """Authentication that asks for a proof before each request, and only then adds the key.

    Before each, not once: between two requests the server may stop, and another program may take
    its port. The secret is read each time too, because a server that started again has a new one.
    `refusal` makes the error for a sentence of the catalog.
    """

    def __init__(self, address: ServerAddress, refusal: Callable[[str], OpenCrabError]) -> None:
        self._address = address
        self._refusal = refusal

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Challenge the server, and send the request with the key if it proves itself."""
        assert self._address.folder is not None  # noqa: S101 - else the key is sent as it is
        secret = read_file_of_server_connection(self._address.folder / "instance")
        if not secret:
            raise self._refusal("not_running")
        challenge = secrets.token_hex(CHALLENGE_CHARACTERS // 2)
        response = yield httpx.Request(
            "GET",
            f"{self._address.url}{HEALTH}",
            headers={CHALLENGE_HEADER: challenge, "Accept": "application/json"},
            extensions=request.extensions,
        )
        if not is_instance_access_proof(_proof(response), secret, challenge):
            raise self._refusal("not_proven")
        request.headers["Authorization"] = f"Bearer {self._address.key}"
        yield request


def _proof(response: httpx.Response) -> object:
    try:
        value = json.loads(response.read())
    except (ValueError, RecursionError):
        return None
    return value.get("proof") if isinstance(value, dict) else None
