"""`opencrab open`: the link, for people and for scripts."""

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, problem

MADE = {"code": "c0de", "expires_at": "2026-11-29T09:10:00Z"}


@pytest.mark.parametrize(("language", "said"), [("en", "once, within"), ("ja", "10分以内に1回")])
def test_the_link_is_printed_with_what_it_is_good_for(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on("POST /sign-in/codes", ok(MADE, 201))
    run = program.run("--language", language, "open", "--print")
    assert run.out.startswith("http://")
    assert run.out.endswith("/#sign-in=c0de\n")
    assert said in run.err


def test_a_script_gets_the_link(program: Program, server: Server) -> None:
    server.on("POST /sign-in/codes", ok(MADE, 201))
    found = program.run("--json", "open").json
    assert found["url"].endswith("/#sign-in=c0de")
    assert found["expires_at"] == MADE["expires_at"]


@pytest.mark.parametrize(
    ("language", "said"), [("en", "with an API key"), ("ja", "API キーを入力")]
)
def test_where_there_are_no_links_it_says_how_to_sign_in(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on("POST /sign-in/codes", problem(404, "this installation has no sign-in links"))
    run = program.run("--language", language, "open", "--print")
    assert run.out.endswith("/\n")
    assert said in run.err
