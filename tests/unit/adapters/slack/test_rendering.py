"""Texts on Slack: its own marks, nothing that mentions anybody, and code as it is."""

import pytest

from opencrab.adapters.slack.rendering import (
    SHOWN_CHARACTERS,
    slack_messages_of_utterance,
    slack_text_of_markdown,
)
from opencrab.domain.approvals.call_text import approval_question_with_call
from opencrab.domain.conversation.message import Channel, Utterance
from tests.contract.example import NOW


@pytest.mark.parametrize(
    ("markdown", "mrkdwn"),
    [
        ("a **bold** word", "a *bold* word"),
        ("これは**とても**大事", "これは *とても* 大事"),
        ("~~old~~ x**2 + y**2", "~old~ x**2 + y**2"),
        ("# 見出し\n> 引用", "*見出し*\n> 引用"),
        ("[地図](https://example.org/a?b=1)", "<https://example.org/a?b=1|地図>"),
        ("<!channel> & <@U1>", "&lt;!channel&gt; &amp; &lt;@U1&gt;"),
        ("`a < **b**`", "`a &lt; **b**`"),
        ("```python\nif a < b:\n    # no heading\n```", "```\nif a &lt; b:\n    # no heading\n```"),
        ("[x](javascript:alert)", "[x](javascript:alert)"),
        ("", ""),
    ],
)
def test_markdown_becomes_mrkdwn(markdown: str, mrkdwn: str) -> None:
    assert slack_text_of_markdown(markdown) == mrkdwn


@pytest.mark.parametrize(("filler", "can_approve"), [("x" * 9_000, True), ("&" * 9_000, False)])
def test_a_call_that_slack_would_cut_cannot_be_approved(filler: str, can_approve: bool) -> None:  # noqa: FBT001 - a case
    asked = approval_question_with_call("May I?", f'{{"text": "{filler} rm -rf /"}}', "a" * 64)
    text, buttons = slack_messages_of_utterance(
        Utterance(
            channel=Channel(kind="slack", address="D1"),
            turn_id="t1",
            ordinal=1,
            agent_id="hana",
            session_id="s1",
            text=asked,
            nonce="n",
            approval="01AP",
            created_at=NOW,
            updated_at=NOW,
        )
    )
    assert (len(text["text"]) <= SHOWN_CHARACTERS) is can_approve
    _, actions = buttons["blocks"]
    assert any(":y:" in each["value"] for each in actions["elements"]) is can_approve
