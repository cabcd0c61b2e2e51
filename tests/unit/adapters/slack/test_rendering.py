"""Texts on Slack: its own marks, nothing that mentions anybody, and code as it is."""

import pytest

from opencrab.adapters.slack.rendering import slack_text_of_markdown


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
