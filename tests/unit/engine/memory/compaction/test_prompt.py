"""What is accepted as a summary of a model, and what is not."""

import pytest

from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.engine.memory.compaction.prompt import parse_summary_answer

CALL = '{"name": "save_memory", "arguments": {"content": "蟹"}}'


@pytest.mark.parametrize(
    ("said", "title", "text"),
    [
        ("# Crabs\nThey walk sideways.", "Crabs", "They walk sideways."),
        ("「蟹の話」\n横に歩きます。", "蟹の話", "横に歩きます。"),
        (
            "On <tool_call> tags\nHow models write them.",
            "On <tool_call> tags",
            "How models write them.",
        ),
        ("蟹は横に歩きます。", "蟹は横に歩きます。", "蟹は横に歩きます。"),
    ],
)
def test_the_first_line_is_the_title(said: str, title: str, text: str) -> None:
    assert parse_summary_answer(ModelAnswer(text=said)) == (title, text)


@pytest.mark.parametrize(
    "said",
    [
        f"<tool_call>{CALL}</tool_call>",
        f"\n<tool_call>\n{CALL}",
        f"[TOOL_CALLS][{CALL}]",
        "<function=save_memory>{}</function>",
        f"<|python_tag|>{CALL}",
    ],
)
def test_a_tool_call_written_as_text_is_no_summary(said: str) -> None:
    with pytest.raises(ValueError, match="tool calls instead of a summary"):
        parse_summary_answer(ModelAnswer(text=said))


def test_a_tool_call_is_no_summary() -> None:
    call = ActionCall(id="c1", name="save_memory", arguments={})
    with pytest.raises(ValueError, match="tool calls instead of a summary"):
        parse_summary_answer(ModelAnswer(text="蟹", calls=(call,)))


@pytest.mark.parametrize(("said", "why"), [("", "empty"), (" \n", "empty"), ("蟹" * 8_001, "8001")])
def test_nothing_and_too_much_are_no_summaries(said: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_summary_answer(ModelAnswer(text=said))
