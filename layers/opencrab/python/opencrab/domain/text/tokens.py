"""How many tokens a text will cost, estimated without a tokenizer and on the safe side."""

import math

ASCII_PER_TOKEN = 3.5
OTHER_TOKENS = 1.1
"""Kana and kanji: measured encodings give 0.7 to 1.1 tokens a character; we take the upper end."""


def estimated_tokens(text: str) -> int:
    """Tokens of a text: 3.5 ASCII characters to one, every character of three bytes 1.1."""
    length = len(text)
    other = (len(text.encode("utf-8", "replace")) - length) / 2
    return math.ceil((length - other) / ASCII_PER_TOKEN + other * OTHER_TOKENS)
