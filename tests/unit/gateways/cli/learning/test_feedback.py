"""Telling an agent from the terminal what one thought of a turn."""

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, problem

KEPT = {"id": "f1", "turn_id": "t1", "thumbs": "up", "lesson": "分かりやすい", "at": "now"}


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "saved feedback on turn t1\n"),
        ("ja", "ターン t1 への評価を記録しました\n"),
    ],
)
def test_thumbs_and_a_remark_are_sent(
    server: Server, program: Program, language: str, said: str
) -> None:
    server.on("POST /turns/t1/feedback", ok(KEPT, 201))
    typed = ["--language", language, "feedback", "t1", "up", "分かりやすい"]
    assert program.run(*typed).out == said
    assert program.run(*typed[:-1], "--json").json == KEPT
    assert server.sent("POST") == [
        {"thumbs": "up", "remark": "分かりやすい"},
        {"thumbs": "up", "remark": ""},
    ]


def test_thumbs_point_up_or_down(server: Server, program: Program) -> None:
    assert program.run("feedback", "t1", "sideways").code == 2
    assert server.sent("POST") == []


def test_a_refusal_is_a_sentence(server: Server, program: Program) -> None:
    server.on("POST /turns/t1/feedback", problem(409, "turn 't1' has not ended"))
    refused = program.run("feedback", "t1", "down")
    assert (refused.code, refused.err) == (6, "opencrab: turn 't1' has not ended\n")


def test_help_speaks_japanese(program: Program) -> None:
    shown = program.run("--language", "ja", "feedback", "--help").out
    assert "ターンの良し悪しを" in shown
    assert "理由や感想。" in shown
