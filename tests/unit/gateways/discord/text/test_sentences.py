"""What Discord says of errors in Japanese is found by the English messages that the code has."""

import ast
import re
from collections.abc import Iterator

from opencrab.domain.errors import Conflict
from opencrab.domain.value import Language
from opencrab.gateways.discord.text.sentences import _ERRORS, discord_problem_text
from tests.architecture.source import modules


def messages() -> Iterator[str]:
    """Every text in the package, with a sample in the place of each value."""
    for module in modules():
        for node in module.nodes:
            if isinstance(node, ast.JoinedStr):
                yield "".join(map(_sample, node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
                if "{" in node.value:
                    # A template, which is filled where it is used.
                    yield re.sub(r"\{\w+\}", "1", re.sub(r"\{\w+!r\}", "'x'", node.value))


def _sample(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    quoted = isinstance(part, ast.FormattedValue) and part.conversion == ord("r")
    goal = "id" in ast.unparse(part) or "label" in ast.unparse(part)
    return "'x'" if quoted else "G1" if goal else "1"


def test_every_pattern_finds_a_message_of_the_code() -> None:
    known = set(messages())
    unused = [pattern for pattern in _ERRORS if not any(re.search(pattern, text) for text in known)]
    assert not unused


def test_a_conflict_is_told_in_japanese_without_an_english_tail() -> None:
    error = Conflict("concurrent updates to goal 'G1'; retries exhausted", cure="try again")
    told = discord_problem_text(error, Language.JA)
    assert told == "⚠️ ほかの操作と重なりました。もう一度お試しください。"
    assert "concurrent" in discord_problem_text(error, Language.EN)


def test_an_error_and_its_cure_are_told_in_japanese() -> None:
    error = Conflict("the dashboard is off", cure="choose another name")
    told = discord_problem_text(error, Language.JA)
    assert told == "⚠️ ダッシュボードは無効です\n別の名前を選んでください"
