"""What a reader found: secrets are removed wherever they stand in a text."""

import pytest

from opencrab.engine.bundle.found import REDACTED, FoundAgent


@pytest.mark.parametrize(
    "text",
    [
        "password: {}",
        "API_KEY={}",
        "OPENAI_API_KEY={}",
        "(token: {})",
        "鍵はtoken: {}",
        '{{"api_key": "{}"}}',
        "see\nsecret = {}",
    ],
)
def test_a_password_is_removed_wherever_its_name_stands(text: str) -> None:
    word = "correct-" + "horse-battery"
    found = FoundAgent("openclaw")
    found.add_memory(text.format(word), "MEMORY.md")
    assert word not in found.memories[0][0]
    assert REDACTED in found.memories[0][0]
    assert ("MEMORY.md", "secret") in found.lost


@pytest.mark.parametrize("text", ["the secretary: Hanako-Yamada", "tokenizer=longvaluehere"])
def test_words_that_only_hold_such_a_name_stay(text: str) -> None:
    found = FoundAgent("openclaw")
    found.add_memory(text, "MEMORY.md")
    assert found.memories[0][0] == text
