"""Blocks of thinking that some models write at the beginning of their text, taken out of it.

Only a model that is known to do so (`ModelInfo.leading_blocks`) has any, and only at the beginning:
a tag that an answer mentions later, or in a code block, is part of the answer.
"""

import re
from dataclasses import dataclass

from opencrab.domain.turn.record import ModelAnswer, Reflection

_OPENING = re.compile(r"\s*<(think|thinking|memory)>", re.IGNORECASE)
_CLOSING = {
    "think": re.compile(r"</think(?:ing)?>", re.IGNORECASE),
    "memory": re.compile(r"</memory>", re.IGNORECASE),
}
_UNOPENED = re.compile(r"^[ \t]*</think(?:ing)?>[ \t]*$", re.IGNORECASE | re.MULTILINE)
_FENCE = "```"
_TAGS = ("<think>", "<thinking>", "<memory>")
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "MAX_TOKENS"})
"""Finish reasons of an answer that the token limit ended."""


@dataclass(frozen=True)
class SortedText:
    """An answer's text, split into visible text, thinking and memory notes."""

    text: str
    thought: str = ""
    memory: str | None = None


def sort_leading_blocks(text: str, *, was_cut: bool = False, is_opened: bool = False) -> SortedText:
    """Separate <think> and <memory> blocks at the beginning of a text from the rest.

    A block without an end is one only if the text was cut; otherwise the model forgot to end it,
    and what follows is the answer. A thought without an opening tag begins at the start of the
    text, as some chat templates open it for the model; its closing tag then has a line of its own.
    With `is_opened` the model's template always does: a text that was cut before it is all thought.
    """
    if is_opened and was_cut and not has_left_opened_block(text):
        return SortedText("", text.strip())
    if "<" not in text:
        return SortedText(text.strip())
    found: dict[str, list[str]] = {"think": [], "memory": []}
    rest = text
    if not _OPENING.match(text) and (closed := _UNOPENED.search(text)):
        thought = text[: closed.start()]
        if thought.count(_FENCE) % 2 == 0:
            found["think"].append(thought)
            rest = text[closed.end() :]
    while opened := _OPENING.match(rest):
        kind = "memory" if opened[1].lower() == "memory" else "think"
        rest = rest[opened.end() :]
        closed = _CLOSING[kind].search(rest)
        if closed is None:
            if was_cut:
                found[kind].append(rest)
                rest = ""
            break
        found[kind].append(rest[: closed.start()])
        rest = rest[closed.end() :]
    return SortedText(
        rest.strip(), _join_parts(found["think"]), _join_parts(found["memory"]) or None
    )


def has_left_opened_block(text: str) -> bool:
    """Check whether the thought that a template opened is over, or the text opens one itself."""
    return bool(_OPENING.match(text) or _UNOPENED.search(text))


def text_after_leading_blocks(text: str) -> str:
    """Return what may be shown of a text that is still arriving.

    Nothing may while a block is open, or while the text may yet turn out to begin with one.
    """
    rest = sort_leading_blocks(text, was_cut=True).text
    return "" if any(tag.startswith(rest.casefold()) for tag in _TAGS) else rest


def answer_without_leading_blocks(answer: ModelAnswer, *, is_opened: bool = False) -> ModelAnswer:
    """Return an answer whose leading blocks are its thought and its memory update.

    With `is_opened` the model's chat template opens the thought, unless the server took it out.
    """
    thought = answer.thought or Reflection()
    spoken = thought.intent if answer.calls else answer.text
    words = sort_leading_blocks(
        spoken,
        was_cut=answer.finish in _CUT,
        is_opened=is_opened and not thought.judgment and not answer.calls,
    )
    if words.text == spoken:
        return answer
    thought = thought.replaced(
        judgment=_join_parts([thought.judgment, words.thought]),
        intent=words.text if answer.calls else thought.intent,
    )
    return answer.replaced(
        text="" if answer.calls else words.text,
        thought=thought if thought.judgment or thought.intent else None,
        memory_update=words.memory or answer.memory_update,
    )


def _join_parts(parts: list[str]) -> str:
    return "\n".join(filter(None, (part.strip() for part in parts)))
