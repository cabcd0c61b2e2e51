"""What an agent of `agents create` sends before the user's words, in both languages."""

import json
from pathlib import Path

import pytest

from tests.bench.prompt import NAMES, sent, split

MOST_BYTES = 8_000


@pytest.mark.slow
def test_a_new_agents_prompt_and_schemas_take_eight_thousand_bytes(tmp_path: Path) -> None:
    found = sent(tmp_path)
    assert set(found) == set(NAMES)
    for language, each in found.items():
        assert each.prompt > 1_000, (language, each)
        assert each.schemas > 4_000, (language, each)
        assert each.all <= MOST_BYTES, (language, each)


def test_words_of_the_conversation_are_not_counted() -> None:
    system, tools = {"role": "system", "content": "蟹"}, [{"type": "function"}]

    def body(*said: str) -> bytes:
        messages = [system, *({"role": "user", "content": each} for each in said)]
        request = {"model": "m", "tools": tools, "messages": messages}
        return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()

    assert split(body("あ", "い")) == split(body()) == split(body("長い" * 99))
