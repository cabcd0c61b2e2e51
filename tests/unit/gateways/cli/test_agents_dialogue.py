"""A person at the terminal creates, edits and retires agents by answering short questions."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.unit.gateways.cli.server import CTRL_C, Program, Server, ok, page
from tests.unit.gateways.cli.views import agent_view

ADA = agent_view("Ada")
SAKURA = agent_view("さくら", id="sakura-id")


@pytest.fixture
def server() -> Server:
    """One agent, and a way to make more."""
    server = Server()
    server.on("GET /agents", page(ADA))
    server.on("GET /agents/ada-id", ok(ADA))
    server.on("POST /agents", ok(SAKURA, 201))
    return server


def editor(program: Program, *steps: str) -> None:
    """An editor that does one step of Python to the text at each call."""
    script = program.data.parent / "editor.py"
    script.write_text(
        "import pathlib, sys\n"
        "path, count = pathlib.Path(sys.argv[1]), pathlib.Path(__file__ + '.count')\n"
        "done = int(count.read_text()) if count.exists() else 0\n"
        "count.write_text(str(done + 1))\n"
        "text = path.read_text(encoding='utf-8')\n"
        f"path.write_text(eval({list(steps)!r}[done]), encoding='utf-8')\n",
        encoding="utf-8",
    )
    program.environment["EDITOR"] = shlex.join([sys.executable, "-S", str(script)])


def test_a_person_is_asked_in_the_language_that_they_choose(
    program: Program, server: Server
) -> None:
    answers = ["fr", "ja", "", "さくら", "好奇心旺盛な研究者", "詩を書く"]
    shown = program.sit("agents", "create", typed=answers)
    assert shown.code == 0
    assert "please enter one of: en, ja" in shown.out
    for question in ("名前: ", "ペルソナ", "何のためのエージェントですか?"):
        assert question in shown.out
    assert server.sent("POST") == [
        {
            "language": "ja",
            "name": "さくら",
            "purpose": "詩を書く",
            "soul": {"persona_name": "好奇心旺盛な研究者"},
        }
    ]


def test_every_answer_but_the_name_may_be_left_out(program: Program, server: Server) -> None:
    server.on("GET /agents", page())
    shown = program.sit("agents", "create", typed=["", "", "Ada", "", ""])
    assert "Language, ja or en / 言語 [en]: " in shown.out
    assert "this is required" in shown.out
    assert server.sent("POST") == [{"language": "en", "name": "Ada"}]


def test_what_was_said_in_options_is_not_asked_again(program: Program, server: Server) -> None:
    server.on("GET /agents", page())
    options = ["--persona", "a poet", "--purpose", "to write", "--traits", "openness=1"]
    shown = program.sit("agents", "create", *options, typed=["en", "Ada"])
    assert "Persona" not in shown.out
    soul = {"persona_name": "a poet", "personality": {"openness": 1.0}}
    assert server.sent("POST") == [
        {"language": "en", "name": "Ada", "purpose": "to write", "soul": soul}
    ]


@pytest.mark.parametrize("typed", [[], ["en"], [CTRL_C], ["en", CTRL_C]])
def test_whoever_leaves_the_dialogue_creates_nothing(
    program: Program, server: Server, typed: list[str]
) -> None:
    left = program.sit("agents", "create", typed=typed)
    assert left.code != 0
    assert "Traceback" not in left.err
    assert server.sent("POST") == []


@pytest.mark.parametrize(("answer", "retires"), [("y", True), ("はい", True), ("", False)])
def test_a_person_is_asked_before_an_agent_retires(
    program: Program, server: Server, answer: str, *, retires: bool
) -> None:
    server.on("DELETE /agents/ada-id", ok({**ADA, "status": "retired"}))
    shown = program.sit("--language", "ja", "agents", "retire", "Ada", typed=["?", answer, "", ""])
    assert shown.out.count("引退させますか?") == 2
    assert ("Ada は引退しました" in shown.out) is retires
    assert any(request.method == "DELETE" for request in server.requests) is retires


def test_an_agent_is_edited_as_json_in_the_persons_own_editor(
    program: Program, server: Server
) -> None:
    editor(program, 'text.replace(\'"purpose": ""\', \'"purpose": "詩"\')')
    server.on("PATCH /agents/ada-id", ok({}))
    server.on("GET /agents/ada-id", ok({**ADA, "purpose": "詩"}))
    shown = program.sit("agents", "edit", "Ada")
    assert shown.out == "updated Ada\n"
    assert server.sent("PATCH") == [{"purpose": "詩"}]


def test_a_broken_edit_can_be_mended(program: Program, server: Server) -> None:
    editor(program, "text[:-3]", "'[]'", json.dumps(json.dumps({"name": "Ada"})))
    shown = program.sit("agents", "edit", "Ada", typed=["y", "", ""])
    assert "invalid JSON" in shown.err
    assert "a JSON object in braces is expected" in shown.err
    assert shown.out.endswith("Ada was not changed\n")
    assert {request.method for request in server.requests} == {"GET"}


@pytest.mark.parametrize(("language", "said"), [("en", "invalid JSON"), ("ja", "読めません")])
def test_a_broken_edit_can_be_given_up(program: Program, language: str, said: str) -> None:
    editor(program, "'nonsense'")
    left = program.sit("--language", language, "agents", "edit", "Ada", typed=["n", ""])
    assert left.code == 2
    assert said in left.err


def test_what_cannot_be_changed_is_named(program: Program) -> None:
    editor(program, """'{"id": "x", "colour": "red"}'""")
    refused = program.sit("agents", "edit", "Ada")
    assert refused.code == 2
    assert "do not exist or are read-only: colour, id" in refused.err


@pytest.mark.parametrize("command", ["/nowhere/editor", "'unclosed", "false"])
def test_an_editor_that_does_not_work_is_named_with_a_cure(program: Program, command: str) -> None:
    refused = program.sit("agents", "edit", "Ada", EDITOR=command)
    assert refused.code == 3
    assert f"cannot run the editor {command}" in refused.err
    assert "set EDITOR" in refused.err
    assert not list(Path(program.data).glob("opencrab-*"))
