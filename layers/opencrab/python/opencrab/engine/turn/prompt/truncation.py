"""Shares: a text within its share of the prompt, cut at a line and saying so."""

from opencrab.domain.text.terms import estimated_tokens
from opencrab.domain.value import Language

_CUT = {Language.JA: "…(ここまで。残りは省略)", Language.EN: "… (cut here)"}
_CHARACTER = 1.65
"""Most tokens that the estimate counts for one character."""


def truncate_prompt_lines(text: str, most_tokens: int, language: Language) -> str:
    """As many whole lines as fit, and a word that there are more; "" where there is no room.

    A line that would leave half of the room empty is cut itself.
    """
    if not text or estimated_tokens(text) <= most_tokens:
        return text
    note = _CUT[language]
    room = most_tokens - _size(note)
    if room <= 0:
        return ""
    kept = list[str]()
    for line in text.split("\n"):
        size = _size(line)
        if size > room:
            if room * 2 > most_tokens:
                kept.append(line[: int(room / _CHARACTER)])
            break
        kept.append(line)
        room -= size
    return "\n".join((*kept, note))


def _size(line: str) -> int:
    return estimated_tokens(f"{line}\n")
