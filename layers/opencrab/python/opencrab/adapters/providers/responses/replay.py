"""What a model wants back unread: its encrypted thoughts, in their places among its other items."""

import json
from typing import Any

from opencrab.adapters.providers.openai.answer import REPLAY_BYTES
from opencrab.adapters.providers.wire.lenient import wire_dict, wire_list
from opencrab.domain.value import is_json_value
from opencrab.ports.models.model import ChatMessage

Item = dict[str, Any]

_VENDOR = "responses"
_REASONING = ("type", "id", "summary", "encrypted_content")
CALLS = frozenset({"function_call", "custom_tool_call"})


def kept_response_items(output: list[Item], model: str) -> dict[str, Any] | None:
    """Return an answer's items to send back to the same model before the results of its calls.

    None if it made no calls or had no encrypted thoughts, or if they are too large.
    """
    if not any(item.get("type") in CALLS for item in output):
        return None
    items = [kept for kept in map(_reduce_item, output) if kept is not None]
    if not any(item["type"] == "reasoning" for item in items):
        return None
    replay = {"vendor": _VENDOR, "model": model, "items": items}
    return replay if is_json_value(replay) and len(json.dumps(replay)) <= REPLAY_BYTES else None


def replayed_response_items(said: ChatMessage, model: str) -> list[Item] | None:
    """Return the stored items of an assistant's message; None if model or calls do not match."""
    replay = wire_dict(said.replay)
    if replay.get("vendor") != _VENDOR or replay.get("model") != model:
        return None
    items = [wire_dict(item) for item in wire_list(replay.get("items"))]
    calls = sum(item.get("type") == "function_call" for item in items)
    return items if said.calls and calls == len(said.calls) else None


def _reduce_item(item: Item) -> Item | None:
    """Reduce an item to what is sent back; None to drop it."""
    kind = item.get("type")
    if kind in CALLS:
        return {"type": "function_call", "call_id": str(item.get("call_id") or "")}
    if kind == "reasoning" and isinstance(item.get("encrypted_content"), str):
        return {name: item[name] for name in _REASONING if name in item}
    if kind == "message" and (text := text_of_response_message(item)).strip():
        return {"type": "message", "text": text}
    return None


def text_of_response_message(item: Item) -> str:
    """Join the texts of a message; a refusal is what the model says."""
    parts = [wire_dict(part) for part in wire_list(item.get("content"))]
    texts = (part.get("text") or part.get("refusal") for part in parts)
    return "".join(text for text in texts if isinstance(text, str))
