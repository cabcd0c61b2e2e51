"""Words of MCP servers, as people and models see them."""

import unicodedata

DESCRIPTION = 1_000
"""The most characters of one description."""

_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible_mcp_text(text: str, characters: int) -> str:
    """Return a server's words on one line of visible characters, cut to a number of them."""
    kept = "".join(
        " " if each.isspace() else each
        for each in text[: 4 * characters]
        if each.isspace() or unicodedata.category(each) not in _INVISIBLE
    )
    line = " ".join(kept.split())
    return line if len(line) <= characters else f"{line[: characters - 1]}…"


def has_hidden_mcp_text(text: str) -> bool:
    """Check whether a text on one line has characters that people do not see."""
    return any(unicodedata.category(each) in _INVISIBLE for each in text)
