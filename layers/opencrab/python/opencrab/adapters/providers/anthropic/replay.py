"""What Anthropic wants back unread: the signed thoughts of an answer, in their places.

A thought's signature holds for its place among the texts and calls of its message, so the order of
all blocks is kept, and nothing of it when the answer had no thoughts.
"""

import re
from typing import Any

from opencrab.adapters.providers.wire.lenient import wire_dict, wire_list
from opencrab.adapters.providers.wire.text import repair_wire_text
from opencrab.ports.models.model import ChatMessage

_DOT = re.compile(r"(?<=\d)\.(?=\d)")
_APPEND_ONLY = re.compile(r"claude-[a-z]+-(?:5-[1-9]|[6-9]|\d\d)(?!\d)")
_FIELDS = {"thinking": ("thinking", "signature"), "redacted_thinking": ("data",)}


def anthropic_tool_name(model: str) -> str:
    """Return a model's name as Anthropic writes it: claude-opus-4.6 becomes claude-opus-4-6."""
    return _DOT.sub("-", model) if model.startswith("claude") else model


def anthropic_history_is_append_only(model: str) -> bool:
    """Check whether a model rejects thinking after a changed history, and forced tool calls.

    All models from Fable 5.1 on do. Since our last message changes from call to call, their
    thinking blocks are not sent back.
    """
    return _APPEND_ONLY.match(model) is not None


def anthropic_blocks_to_replay(blocks: list[dict[str, Any]], model: str) -> dict[str, Any] | None:
    """Return an answer's blocks to send back to the same model; None without thinking."""
    kept = [part for part in map(_replayable_part, blocks) if part is not None]
    if anthropic_history_is_append_only(model) or not any(part["type"] in _FIELDS for part in kept):
        return None
    return {"vendor": "anthropic", "model": model, "blocks": kept}


def anthropic_replay_blocks(said: ChatMessage, model: str) -> list[dict[str, Any]] | None:
    """Return the stored blocks of an assistant message; None if model or calls do not match.

    Tool calls are reduced to their id.
    """
    kept = wire_dict(said.replay)
    if kept.get("vendor") != "anthropic" or kept.get("model") != model:
        return None
    blocks = [
        part
        for part in map(_replayable_part, map(wire_dict, wire_list(kept.get("blocks"))))
        if part
    ]
    count = sum(1 for block in blocks if block["type"] == "tool_use")
    return blocks if said.calls and count == len(said.calls) else None


def _replayable_part(block: dict[str, Any]) -> dict[str, Any] | None:
    """Reduce a block to the fields that are sent back; None to drop the block."""
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
    return repair_wire_text(value) if isinstance(value, str) else ""
