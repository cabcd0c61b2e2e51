"""A file `.env` is read as shells and other programs read it."""

import pytest

from opencrab.domain.configuration.dotenv import parse_dotenv_text


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("export A=b", "b"),
        (" A = b c ", "b c"),
        ("A=b # a comment", "b"),
        ("A=b#c", "b#c"),
        ("A=", ""),
        ('A="b # c"  # d', "b # c"),
        (r'A="b\n\"c\" \\"', 'b\n"c" \\'),
        (r"A='b\n $C'", r"b\n $C"),
        ("A=蟹", "蟹"),
    ],
)
def test_a_line_sets_a_variable(line: str, value: str) -> None:
    assert parse_dotenv_text(f"# 秘密\n\n{line}\n") == ({"A": value}, ())


def test_lines_that_set_nothing_are_counted_and_the_last_value_wins() -> None:
    variables, wrong = parse_dotenv_text('A=1\nnonsense\nA=2\n1B=x\nC="open\n')
    assert variables == {"A": "2"}
    assert wrong == (2, 4, 5)
