"""What Anthropic wants back unread: the signed thoughts of an answer, in their places.

A thought's signature holds for its place among the texts and calls of its message, so the order of
all blocks is kept, and nothing of it when the answer had no thoughts.
"""

import re
from typing import Any

from opencrab.adapters.providers.wire.lenient import as_list, as_mapping
from opencrab.adapters.providers.wire.text import repair_text
from opencrab.ports.models.model import ChatMessage

_DOT = re.compile(r"(?<=\d)\.(?=\d)")
_APPEND_ONLY = re.compile(r"claude-[a-z]+-(?:5-[1-9]|[6-9]|\d\d)(?!\d)")
_FIELDS = {"thinking": ("thinking", "signature"), "redacted_thinking": ("data",)}


def anthropic_tool_name(model: str) -> str:
    """A model's name as Anthropic writes it: claude-opus-4.6 is claude-opus-4-6 there."""
    return _DOT.sub("-", model) if model.startswith("claude") else model


def is_append_only_history(model: str) -> bool:
    """Whether a model refuses thoughts before which anything has changed, and forced calls.

    So do all from Fable 5.1 on; since our last turn changes from call to call, their thoughts
    stay at home.
    """
    return _APPEND_ONLY.match(model) is not None


def replayed_blocks(blocks: list[dict[str, Any]], model: str) -> dict[str, Any] | None:
    """What to keep of an answer's blocks for the same model; None when there are no thoughts."""
    kept = [part for part in map(_replayable_part, blocks) if part is not None]
    if is_append_only_history(model) or not any(part["type"] in _FIELDS for part in kept):
        return None
    return {"vendor": "anthropic", "model": model, "blocks": kept}


def replay_blocks(said: ChatMessage, model: str) -> list[dict[str, Any]] | None:
    """The blocks of what the assistant said, if they fit its calls and this model; else None.

    Calls are left blank but for the id that they had.
    """
    kept = as_mapping(said.replay)
    if kept.get("vendor") != "anthropic" or kept.get("model") != model:
        return None
    blocks = [
        part for part in map(_replayable_part, map(as_mapping, as_list(kept.get("blocks")))) if part
    ]
    count = sum(1 for block in blocks if block["type"] == "tool_use")
    return blocks if said.calls and count == len(said.calls) else None


def _replayable_part(block: dict[str, Any]) -> dict[str, Any] | None:
    """The part of a block that goes back; None for one that does not."""
    kind = block.get("type")
    if kind == "tool_use":
        return {"type": "tool_use", "id": _string(block, "id")}
    if kind == "text":
        text = _string(block, "text")
        return {"type": "text", "text": text} if text.strip() else None
    fields = _FIELDS.get(kind, ()) if isinstance(kind, str) else ()
    if not fields or not _string(block, fields[-1]):
        return None
    return {"type": kind, **{field: _string(block, field) for field in fields}}


def _string(block: dict[str, Any], field: str) -> str:
    value = block.get(field)
    return repair_text(value) if isinstance(value, str) else ""
