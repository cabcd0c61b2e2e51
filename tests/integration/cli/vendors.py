"""Vendors of models on this machine: each speaks its own format, and takes the right key only."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from opencrab.adapters.providers.scripted.script import ScriptedAnswer
from tests.contract.speaking import VENDORS
from tests.unit.adapters.providers.stub import Canned, Received, Stub, serving

KEY, ANSWER = "sk-right", "Greetings from the vendor. ご挨拶です。"
_REFUSED = {"error": {"message": "wrong key", "code": 401, "status": "UNAUTHENTICATED"}}
_LISTS: dict[str, Callable[[tuple[str, ...]], Any]] = {
    "ollama": lambda names: {"models": [{"name": each, "model": each} for each in names]},
    "google": lambda names: {"models": [{"name": f"models/{each}"} for each in names]},
    "bedrock": lambda names: {"modelSummaries": [{"modelId": each} for each in names]},
}


def _openai_list(names: tuple[str, ...]) -> Any:
    return {"object": "list", "data": [{"id": each, "object": "model"} for each in names]}


@contextmanager
def vendor(wire: str, *models: str, key: str = KEY) -> Iterator[Stub]:
    """A server that speaks a wire of `tests.contract.speaking`; without a key it wants none."""
    speaks, said = VENDORS[wire], ScriptedAnswer(text=ANSWER)

    def respond(received: Received) -> Canned:
        if not _may_enter(received, key):
            return _json(_REFUSED, 401)
        if received.method == "GET":
            listing = _LISTS.get(wire, _openai_list)
            is_list = received.path.partition("?")[0].endswith(("models", "tags"))
            return _json(listing(models)) if is_list else _json({}, 404)
        if received.path.endswith("/api/show"):
            return _json({}, 404)
        streams = "stream" in received.path.lower() or received.json.get("stream") is True
        if not streams:
            return _json(speaks.whole(said))
        return Canned(body=speaks.stream(said), headers={"content-type": speaks.kind})

    with serving(respond) as stub:
        yield stub


def _may_enter(received: Received, key: str) -> bool:
    given = received.headers
    named = ("x-api-key", "x-goog-api-key", "api-key", "authorization")
    values = [given[each].removeprefix("Bearer ") for each in named if each in given]
    return not key or key in values


def _json(value: Any, status: int = 200) -> Canned:
    content = json.dumps(value, ensure_ascii=False).encode()
    return Canned(status, content, {"content-type": "application/json"})
