"""Truncation: cut a text to its share of the prompt at the end of a line, and mark the cut."""

from opencrab.domain.value import Language
from opencrab.ports.models.model import (
    NO_TEXT,
    PromptText,
    estimated_tokens,
    label_text_for_model_call,
)

_CUT = {Language.JA: "…(ここまで。残りは省略)", Language.EN: "… (cut here)"}
_CHARACTER = 1.65
"""The most tokens that the estimate counts for one character."""


def truncate_prompt_lines(text: PromptText, most_tokens: int, language: Language) -> PromptText:
    """Return as many whole lines as fit, and a mark of the cut; "" where there is no room.

    A line that does not fit is itself cut if more than half of the room is left.
    """
    if not text or estimated_tokens(text) <= most_tokens:
        return text
    note = _CUT[language]
    room = most_tokens - _size(note)
    if room <= 0:
        return NO_TEXT
    kept = list[str]()
    for line in text.split("\n"):
        size = _size(line)
        if size > room:
            if room * 2 > most_tokens:
                kept.append(line[: int(room / _CHARACTER)])
            break
        kept.append(line)
        room -= size
    return label_text_for_model_call("\n".join((*kept, note)), tainted=text.tainted)


def _size(line: str) -> int:
    return estimated_tokens(f"{line}\n")
