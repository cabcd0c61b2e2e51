"""Text as providers send it: repaired where it is broken, and freed of blocks for nobody's eyes."""

import math
import re
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 64
"""Deepest nesting of arguments that is read: nobody means more."""

_THINK = re.compile(r"<think(?:ing)?>(.*?)(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_MEMORY = re.compile(r"<memory>(.*?)(?:</memory>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_MEMORY_END = re.compile(r"</memory>", re.IGNORECASE)
_TAGS = tuple(f"{mark}{name}>" for mark in ("<", "</") for name in ("think", "thinking", "memory"))
_GAP = re.compile(r"\n{3,}")


@dataclass(frozen=True)
class SortedText:
    """An answer's text, split into visible text, thinking and memory notes."""

    text: str
    thought: str
    memory: str | None


def repair_wire_text(text: str) -> str:
    """Join surrogate pairs, replace lone surrogates, and remove NUL characters."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\x00", "")


def complete_wire_characters(text: str) -> str:
    """Return a text that is still arriving without the first half of a surrogate pair at its end.

    Servers may split an emoji between two chunks, each half escaped as JSON has it.
    """
    return text[:-1] if text and "\ud800" <= text[-1] <= "\udbff" else text


def wire_text_before_open_block(text: str) -> str:
    """Return what may be shown of a text that is still arriving, as `sort_content_blocks` has it.

    A tag that may only just have begun is left out, and so is an unclosed block.
    """
    start = text.rfind("<")
    if start >= 0 and _may_open_block(text[start:].casefold()):
        text = text[:start]
    return sort_wire_content_blocks(text).text


def _may_open_block(tail: str) -> bool:
    return any(tag.startswith(tail) for tag in _TAGS)


def sort_wire_content_blocks(text: str) -> SortedText:
    """Separate <think> and <memory> blocks from the visible text.

    An unclosed block reaches to the end of the text. A thought without an opening tag begins at the
    start of the text, as some chat templates open it for the model.
    """
    thoughts = [found.group(1) for found in _THINK.finditer(text)]
    *unopened, text = _THOUGHT_END.split(_THINK.sub("\n", text))
    thoughts.extend(unopened)
    memories = [found.group(1) for found in _MEMORY.finditer(text)]
    text = _MEMORY_END.sub("\n", _MEMORY.sub("\n", text))
    memory = "\n".join(filter(None, (part.strip() for part in memories)))
    return SortedText(
        text=_GAP.sub("\n\n", text).strip(),
        thought="\n".join(filter(None, (part.strip() for part in thoughts))),
        memory=memory or None,
    )


def repair_tool_json(value: Any, depth: int = 0) -> Any:
    """Repair the texts of a JSON value.

    Raises ValueError for NaN and Infinity, which are not JSON, and for too deep nesting.
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"JSON is nested deeper than {MAX_DEPTH} levels")
    match value:
        case str():
            return repair_wire_text(value)
        case float() if not math.isfinite(value):
            raise ValueError(f"{value} is not a finite number")
        case dict():
            return {
                repair_wire_text(str(key)): repair_tool_json(item, depth + 1)
                for key, item in value.items()
            }
        case list():
            return [repair_tool_json(item, depth + 1) for item in value]
        case _:
            return value
