"""Blocks of thinking that begin a text are taken out; whatever only looks like one stays."""

import pytest

from opencrab.adapters.providers.wire.blocks import (
    answer_without_leading_blocks,
    sort_leading_blocks,
    text_after_leading_blocks,
)
from opencrab.domain.turn.record import ActionCall, ModelAnswer, Reflection

CASES = [
    ("<think>考え中</think>答え", "答え", "考え中", None),
    ("<thinking>hmm</thinking>\nyes", "yes", "hmm", None),
    ("\n<think>\na\n</think>\n\n<thinking>b</thinking> はい", "はい", "a\nb", None),
    ("<think>さて</think><memory>凛は猫が好き</memory>はい", "はい", "さて", "凛は猫が好き"),
    ("<memory>a</memory><memory>b</memory>ok", "ok", "", "a\nb"),
    ("<THINK>大文字</THINK>ok", "ok", "大文字", None),
    ("opened by the template\n</think>\n\nはい", "はい", "opened by the template", None),
    ("<think> The temperature is 30°C.", "The temperature is 30°C.", "", None),
    ("<think></think>", "", "", None),
]
KEPT = [
    "はい<think>終わらない",
    "覚えた<memory>凛は猫が好き</memory>よ",
    "R1 は `<think>` で始め、`</think>` で終えます。",
    "`<think>x</think>` is a block of thinking.",
    "Models write <think> and </think> around it.",
    "```xml\n<think>例</think>\n```",
    "```xml\n<think>\n例\n</think>\n```\n終わり",
    "def f(): ...\n\n\n\ndef g(): ...",
    "1 < 2 > 0 <b>太字</b>",
]


@pytest.mark.parametrize(("text", "said", "thought", "memory"), CASES)
def test_blocks_at_the_beginning_are_not_said(
    text: str, said: str, thought: str, memory: str | None
) -> None:
    found = sort_leading_blocks(text)
    assert (found.text, found.thought, found.memory) == (said, thought, memory)


@pytest.mark.parametrize("text", KEPT)
def test_tags_that_are_mentioned_are_said(text: str) -> None:
    assert sort_leading_blocks(text).text == text
    assert text_after_leading_blocks(text) == text
    answer = ModelAnswer(text=text, finish="stop")
    assert answer_without_leading_blocks(answer) is answer


def test_a_block_that_the_token_limit_cut_is_a_thought() -> None:
    answer = answer_without_leading_blocks(ModelAnswer(text="<think>まだ", finish="length"))
    assert (answer.text, answer.thought) == ("", Reflection(judgment="まだ"))


def test_thoughts_beside_calls_are_taken_out_of_the_intent() -> None:
    call = ActionCall(id="c0", name="ws_list", arguments={})
    thought = Reflection(judgment="外", intent="<think>内</think>見ます")
    answer = answer_without_leading_blocks(ModelAnswer(calls=(call,), thought=thought))
    assert answer.text == ""
    assert answer.thought == Reflection(judgment="外\n内", intent="見ます")


@pytest.mark.parametrize(("text", "said", "_thought", "_memory"), CASES[:6])
def test_nothing_of_a_block_is_shown_while_it_arrives(
    text: str, said: str, _thought: str, _memory: str | None
) -> None:
    for place in range(len(text) + 1):
        assert said.startswith(text_after_leading_blocks(text[:place]))
