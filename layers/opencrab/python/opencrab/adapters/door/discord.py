"""Discord in plain: the one call that acknowledges an interaction, without an HTTP library."""

import json
from collections.abc import Mapping

from opencrab import __version__
from opencrab.adapters.door.http import PlainHttp
from opencrab.domain.errors import Unavailable

USER_AGENT = f"DiscordBot (https://github.com/opencrab/opencrab, {__version__})"
ALREADY_ACKNOWLEDGED = 40_060

_HEADERS = {"Content-Type": "application/json", "User-Agent": USER_AGENT}
_DONE = (200, 204)


class PlainCallback:
    """Acknowledges interactions by POST /interactions/{id}/{token}/callback."""

    def __init__(self, http: PlainHttp, *, seconds: float) -> None:
        self._http = http
        self._seconds = seconds

    def acknowledge(self, interaction_id: str, token: str, answer: Mapping[str, object]) -> None:
        """Acknowledge it, once or again; raises Unavailable when Discord does not take it."""
        path = f"/interactions/{interaction_id}/{token}/callback"
        body = json.dumps(answer).encode()
        answered = self._http.post(path, body, _HEADERS, seconds=self._seconds)
        if answered.status in _DONE:
            return
        code = _code(answered.content)
        if code != ALREADY_ACKNOWLEDGED:
            raise Unavailable(
                f"Discord did not take the acknowledgement: {answered.status}, code {code}",
                cure="none is needed: the answer goes to the channel",
            )


def _code(content: bytes) -> object:
    try:
        told = json.loads(content)
    except ValueError:
        return None
    return told.get("code") if isinstance(told, dict) else None
