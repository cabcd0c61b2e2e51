"""What can follow an unfinished command line: from the tree, and agents from the server."""

from threading import Event
from typing import Any

import httpx
import pytest

from tests.unit.gateways.cli.server import Program, Server, page, problem
from tests.unit.gateways.cli.views import agent_view


def agent(name: str, identifier: str) -> dict[str, Any]:
    return agent_view("x") | {"name": name, "id": identifier}


def offered(program: Program, *words: str, quoted: bool = False, **more: str) -> list[str]:
    """The answer to a script: its kind, then the values without their help."""
    before = ("--quoted",) if quoted else ()
    said = program.run("__complete", *before, "--", *words, **more)
    assert (said.code, said.err) == (0, "")
    return [line.partition("\t")[0] for line in said.out.splitlines()]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("ag",), ["values", "agents"]),
        (("admin", "keys", ""), ["values", "create", "list", "revoke"]),
        (("tas",), ["values", "tasks"]),
        (("tas", ""), ["none"]),
        (("task", "l"), ["values", "list"]),
        (("keys", "cr"), ["values"]),
        (("costs", "--period", "last_w"), ["values", "last_week"]),
        (("costs", "--by=mo"), ["values", "--by=model"]),
        (("costs", "--by", "=", "mo"), ["values", "model"]),
        (("costs", "--peri"), ["values", "--period"]),
        (("costs", "--json", "bud"), ["values", "budgets"]),
        (("--language", "ja", "cos"), ["values", "costs"]),
        (("turns", "rate", "t1", ""), ["values", "up", "down"]),
        (("turns", "show", ""), ["none"]),
        (("admin", "restore", ""), ["files"]),
        (("agents", "export", "x", "--directory", ""), ["files"]),
        (("chat", "x", "--say", ""), ["none"]),
        (("nonsense", "more", "--x"), ["none"]),
        (("experiments", "x", "--st"), ["values"]),
    ],
    ids=" ".join,
)
def test_what_can_follow(program: Program, words: tuple[str, ...], expected: list[str]) -> None:
    assert offered(program, *words) == expected


def test_older_names_are_not_offered(program: Program) -> None:
    found = offered(program, "")
    assert {"agents", "admin", "freeze", "completion"} <= set(found)
    assert not {"task", "keys", "cost", "backup"} & set(found)


def test_help_beside_a_command_is_in_the_users_language(program: Program) -> None:
    said = program.run("__complete", "--", "agents", "li", LANG="ja_JP.UTF-8")
    assert said.out == "values\nlist\tエージェントの一覧。\n"


def test_agents_are_offered_by_name_or_by_id(program: Program, server: Server) -> None:
    twins = [agent("Rowan", f"0{n}-rowan") for n in (1, 2)]
    gone = agent("Rex", "rex") | {"status": "retired"}
    server.on("GET /agents", page(agent("Ada", "ada-id"), agent("さくら", "sakura"), *twins, gone))
    assert offered(program, "chat", "") == ["values", "Ada", "さくら", "01-rowan", "02-rowan"]
    assert offered(program, "agents", "show", "a") == ["values", "Ada"]
    assert offered(program, "chat", "ada-i") == ["values", "ada-id"]
    assert offered(program, "costs", "--agent", "さ") == ["values", "さくら"]
    assert offered(program, "freeze", "02") == ["values", "02-rowan"]


def test_words_are_read_as_the_shell_quotes_them(program: Program, server: Server) -> None:
    server.on("GET /agents", page(agent("O'Brien two", "two")))
    for word in ("\"O'B", "O\\'Brien\\ t", "O\\'"):
        assert offered(program, "chat", word, quoted=True) == ["values", "O'Brien two"]
    assert offered(program, "chat", "O'B") == ["values", "O'Brien two"]


def test_a_name_that_would_break_the_answer_is_offered_by_id(
    program: Program, server: Server
) -> None:
    server.on("GET /agents", page(agent("a\nb", "one")))
    assert offered(program, "chat", "") == ["values", "one"]


def test_the_server_is_the_one_that_the_line_names(program: Program, server: Server) -> None:
    server.on("GET /agents", page(agent("Ada", "ada-id")))
    words = ("--url", "https://crab.example", "chat", "--key=mine", "A")
    assert offered(program, *words) == ["values", "Ada"]
    (request,) = server.requests
    assert (request.url.host, request.headers["Authorization"]) == ("crab.example", "Bearer mine")


@pytest.mark.parametrize(
    "answer", [httpx.ConnectError("refused"), problem(401, "no"), httpx.Response(200, text="?")]
)
def test_a_server_without_an_answer_is_not_mentioned(
    program: Program, server: Server, answer: httpx.Response | Exception
) -> None:
    server.on("GET /agents", answer)
    assert offered(program, "chat", "") == ["values"]


def test_a_server_that_takes_too_long_is_not_waited_for(program: Program, server: Server) -> None:
    over = Event()

    def late(_: httpx.Request) -> httpx.Response:
        over.wait(60)
        return page(agent("Ada", "ada-id"))

    server.on("GET /agents", late)
    try:
        assert offered(program, "chat", "") == ["values"]
    finally:
        over.set()
