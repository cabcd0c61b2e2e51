"""How an agent's models make answers, at the terminal: shown, set and reset."""

import json
from typing import Any

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page

PLACE = "/agents/a1/llm/config"
NOTHING = dict.fromkeys(("temperature", "top_p", "max_output_tokens", "reasoning_effort"))
USES = ("thinking", "conversation", "analysis", "tool_calling", "creative", "embedding")


def config(sampling: dict[str, Any], **effective: dict[str, Any]) -> dict[str, Any]:
    chosen = {
        use: {"model": "openai:gpt-5.2", "sampling": {**NOTHING, **effective.get(use, {})}}
        for use in USES
    }
    own: dict[str, Any] = {"model": None, "models": {}, "private": False}
    return {**own, "sampling": sampling, "effective": chosen, "version": 3}


@pytest.fixture(autouse=True)
def agent(server: Server) -> None:
    """An agent whose conversations are cool."""
    server.on("GET /agents", page({"id": "a1", "name": "葵", "status": "active"}))
    server.on(f"GET {PLACE}", ok(config({"conversation": {**NOTHING, "temperature": 0.2}})))
    server.on(f"PUT {PLACE}", ok(config({})))


def sent(server: Server) -> Any:
    assert server.requests[-1].headers["if-match"] == '"3"'
    return json.loads(server.requests[-1].content)


@pytest.mark.parametrize(("language", "words"), [("en", "does not accept"), ("ja", "受け付けない")])
def test_what_a_model_does_not_accept_is_said(program: Program, language: str, words: str) -> None:
    told = program.run("--language", language, "agents", "sampling", "葵").out
    assert words in " ".join(told.split()).replace(" ", "" if language == "ja" else " ")
    assert "gpt-5.2" in told


def test_a_use_is_set_and_keeps_what_is_not_named(program: Program, server: Server) -> None:
    program.run("agents", "sampling", "葵", "--use", "conversation", "--effort", "high")
    body = sent(server)
    own = {**NOTHING, "temperature": 0.2, "reasoning_effort": "high"}
    assert body["sampling"] == {"conversation": own}
    assert set(body) == {"model", "models", "private", "sampling"}


def test_without_a_use_all_are_set(program: Program, server: Server) -> None:
    program.run("agents", "sampling", "葵", "--temperature", "0", "--max-output-tokens", "500")
    found = sent(server)["sampling"]
    assert set(found) == set(USES) - {"embedding"}
    assert found["creative"] == {"temperature": 0.0, "max_output_tokens": 500}


def test_reset_returns_to_the_installations(program: Program, server: Server) -> None:
    program.run("agents", "sampling", "葵", "--reset")
    assert sent(server)["sampling"] == {}


@pytest.mark.parametrize(
    "given",
    [("--reset", "--top-p", "0.5"), ("--temperature", "3"), ("--effort", "huge")],
)
def test_what_cannot_be_is_refused(
    program: Program, server: Server, given: tuple[str, ...]
) -> None:
    assert program.run("agents", "sampling", "葵", *given).code == 2
    assert all(request.method == "GET" for request in server.requests)
