"""Texts on LINE: no marks that would only be seen as such, and nothing of the words lost."""

import pytest

from opencrab.domain.text.plain_markdown import plain_text_of_markdown


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("**大事**なこと", "大事なこと"),
        ("これは**とても**大事", "これはとても大事"),
        ("a **bold** word", "a bold word"),
        ("2 ** 3 ** 2", "2 ** 3 ** 2"),
        ("x**2 + y**2", "x**2 + y**2"),
        ("# 見出し\n本文", "■ 見出し\n本文"),
        ("## Plan ##", "■ Plan"),
        ("#タグ", "#タグ"),
        ("- 一\n  - 二\n* 三", "・一\n  ・二\n・三"),
        ("-5 度", "-5 度"),
        ("[地図](https://example.org/a)", "地図 (https://example.org/a)"),
        ("[https://a.example](https://a.example)", "https://a.example"),
        ("配列[0](x)", "配列[0](x)"),
        ("`**kwargs`", "`**kwargs`"),
        ("```python\ndef f(**k):\n    # no heading\n    pass\n```\n終わり", None),
        ("~~~\n- a\n~~~", "- a"),
        ("snake_case と *.py", "snake_case と *.py"),
        ("", ""),
    ],
)
def test_marks_go_and_words_stay(markdown: str, plain: str | None) -> None:
    expected = "def f(**k):\n    # no heading\n    pass\n終わり" if plain is None else plain
    assert plain_text_of_markdown(markdown) == expected
