"""Markdown: code is told from text, by lines and within a line."""

import pytest

from opencrab.domain.text.markdown import classify_markdown_lines, replace_outside_markdown_code


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("", ["text"]),
        ("潮\n```py\n# a\n```\nend", ["text", "fence", "code", "fence", "text"]),
        ("~~~\n```\n~~~", ["fence", "code", "fence"]),
        ("```\n``` not an end\nnever closed", ["fence", "code", "code"]),
    ],
)
def test_a_fence_ends_with_its_own_mark_alone(text: str, kinds: list[str]) -> None:
    found = list(classify_markdown_lines(text))
    assert [kind.value for kind, _ in found] == kinds
    assert "\n".join(line for _, line in found) == text


def test_inline_code_stays_as_it_is() -> None:
    assert replace_outside_markdown_code("a `a` ``b`` あa", str.upper) == "A `a` ``b`` あA"
