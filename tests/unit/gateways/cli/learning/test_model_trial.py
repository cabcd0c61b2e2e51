"""Trying models out at the terminal: one session a task, and no further than money goes."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.cells import cell_len

from tests.contract.example import usage_row
from tests.unit.gateways.cli.server import Program, Server, ok, page
from tests.unit.gateways.cli.views import NOW, agent_view, session_view

TASKS = """
[[tasks]]
id = "sum"
ask = { en = "1 + 1?", ja = "1 + 1 は?" }
checks = [{ number = 2 }]

[[tasks]]
id = "greet"
ask = "Greet {name}."
checks = [{ contains = ["{name}"] }]
"""
ANSWERS = {"fast": {"sum": "2", "greet": "Hello."}, "openai:dear": {"sum": "3", "greet": "Hi Ada"}}
TEXTS = {"1 + 1?": "sum", "Greet Ada.": "greet"}


class Models:
    """A server at which two models do what they are asked, each turn for the same money."""

    def __init__(self, server: Server, cost: int = 1_000) -> None:
        self.sessions: dict[str, dict[str, Any]] = {}
        self.rows: list[dict[str, Any]] = []
        self.cost = cost
        self.status = "completed"
        self.instead = ""
        self._server = server
        server.on("GET /agents", page(agent_view("Ada", id="a1")))
        aliases = {"fast": "ollama:llama"}
        server.on("GET /llm/aliases", ok({"aliases": aliases, "selectable": ["fast"]}))
        server.on("GET /budgets", ok({"limits": {"turn_micro_usd": 500_000}}))
        server.on("POST /sessions", self._open)
        server.on("GET /agents/a1/llm/metrics", lambda _: page(*reversed(self.rows)))

    def _open(self, request: httpx.Request) -> httpx.Response:
        session_id = f"s{len(self.sessions) + 1}"
        asked = json.loads(request.content)
        self.sessions[session_id] = asked
        view = {**session_view("a1"), "id": session_id, "spent_micro_usd": self.cost}
        place = f"/sessions/{session_id}"
        self._server.on(f"POST {place}/messages", lambda said: self._answer(session_id, said))
        self._server.on(f"GET {place}", ok(view))
        self._server.on(f"POST {place}/end", ok(view))
        self._server.on(
            f"GET /turns/t-{session_id}", lambda _: ok({"id": "t", "status": self.status})
        )
        self._server.on(f"POST /turns/t-{session_id}/cancel", ok({}))
        return ok(view, 201)

    def _answer(self, session_id: str, request: httpx.Request) -> httpx.Response:
        model = next(iter(self.sessions[session_id]["models"].values()))
        text = ANSWERS[model][TEXTS[json.loads(request.content)["text"]]]
        name = self.instead or {"fast": "ollama:llama"}.get(model, model)
        provider, _, of = name.partition(":")
        row = usage_row(at=NOW, session_id=session_id, provider=provider, model=of, cost=self.cost)
        self.rows.append(row.model_dump(mode="json"))
        replies = [] if self.status == "waiting" else [{"text": text, "agent_name": "Ada"}]
        pending = [f"t-{session_id}"] if self.status == "waiting" else []
        return ok({"turn_ids": [f"t-{session_id}"], "replies": replies, "pending": pending})


@pytest.fixture
def models(server: Server) -> Models:
    return Models(server)


@pytest.fixture
def asking(tmp_path: Path) -> tuple[str, ...]:
    """The command with two tasks of one's own for two models."""
    path = tmp_path / "tasks.toml"
    path.write_text(TASKS, encoding="utf-8")
    args = ("--persona", "Ada", "--models", "fast,openai:dear", "--tasks", str(path))
    return ("eval", "models", *args)


def test_each_model_does_each_task_in_a_session_of_its_own(
    program: Program, models: Models, asking: tuple[str, ...]
) -> None:
    found = program.run(*asking, "--yes", "--json").json
    assert [each["models"]["conversation"] for each in models.sessions.values()] == [
        "fast",
        "openai:dear",
    ] * 2
    left = [each["budget_micro_usd"] for each in models.sessions.values()]
    assert left == [500_000, 499_000, 498_000, 497_000]
    fast, dear = found["models"]
    assert [task["score"] for task in fast["tasks"]] == [1.0, 0.0]
    assert [task["score"] for task in dear["tasks"]] == [0.0, 1.0]
    assert (fast["name"], fast["scored"], fast["calls"]) == ("ollama:llama", 2, 2)
    assert (fast["cost_micro_usd"], found["spent_micro_usd"]) == (2_000, 4_000)
    assert fast["score"]["low"] < fast["score"]["mean"] == 0.5 < fast["score"]["high"]


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("passed", "50% (", "2 / 2", "$0.002", "spent $0.004 of $0.50")),
        ("ja", ("合格率", "50%(", "課題", "費用: $0.50 のうち $0.004")),
    ],
)
def test_what_came_of_it_is_drawn_in_both_languages(
    program: Program,
    models: Models,
    asking: tuple[str, ...],
    language: str,
    words: tuple[str, ...],
) -> None:
    said = program.sit("--language", language, *asking, "--yes", COLUMNS="100")
    assert [word for word in words if word not in said.out] == []
    assert max(map(cell_len, said.out.splitlines())) <= 100
    assert len(models.sessions) == 4


def test_nothing_is_begun_once_the_money_is_spent(
    program: Program, server: Server, asking: tuple[str, ...]
) -> None:
    models = Models(server, cost=300_000)
    found = program.run(*asking, "--yes", "--json").json
    assert len(models.sessions) == 2
    assert found["spent_micro_usd"] == 600_000
    last = [each["tasks"][1] for each in found["models"]]
    assert [(task["status"], task["score"]) for task in last] == [("not_asked", None)] * 2
    assert "-: not run" in program.run(*asking, "--yes").out


def test_an_answer_that_another_model_gave_is_not_scored(
    program: Program, models: Models, asking: tuple[str, ...]
) -> None:
    models.instead = "ollama:llama"
    fast, dear = program.run(*asking, "--yes", "--json").json["models"]
    assert (fast["scored"], dear["scored"], dear["score"]) == (2, 0, None)
    assert dear["tasks"][0]["stood_in"]


@pytest.mark.parametrize(
    ("status", "score"), [("waiting", 0.0), ("failed", 0.0), ("exhausted", None), ("idle", None)]
)
def test_turns_that_do_not_answer_are_told_apart(
    program: Program, models: Models, asking: tuple[str, ...], status: str, score: float | None
) -> None:
    models.status = status
    found = program.run(*asking, "--yes", "--json").json["models"][0]["tasks"][0]
    assert found["status"] == status
    assert found["score"] == (1.0 if status == "idle" else score)
    cancelled = [each for each in program.server.requests if each.url.path.endswith("/cancel")]
    assert bool(cancelled) is (status == "waiting")


def test_nobody_is_asked_without_a_yes(
    program: Program, models: Models, asking: tuple[str, ...]
) -> None:
    piped = program.run(*asking)
    assert (piped.code, "--yes" in piped.err) == (2, True)
    refused = program.sit(*asking, typed=["n"])
    assert (refused.code, "nothing was run" in refused.out) == (0, True)
    assert "2 tasks with each of: fast, openai:dear" in refused.out
    assert "at most $1.00" in refused.out
    assert models.sessions == {}
    agreed = program.sit(*asking, typed=["y"])
    assert (agreed.code, len(models.sessions)) == (0, 4)


@pytest.mark.parametrize(
    "args",
    [
        ("--budget-usd", "0"),
        ("--budget-usd", "much"),
        ("--models", ","),
        ("--models", "a,b,c,d,e,f,g,h,i,j,k"),
    ],
)
def test_what_cannot_be_tried_is_refused(
    program: Program, models: Models, args: tuple[str, str]
) -> None:
    refused = program.run("eval", "models", "--persona", "Ada", "--yes", *args)
    assert (refused.code, models.sessions) == (2, {})


def test_all_that_may_be_selected_is_tried_where_nothing_is_named(
    program: Program, models: Models, asking: tuple[str, ...]
) -> None:
    args = [each for each in asking if each not in {"--models", "fast,openai:dear"}]
    found = program.run(*args, "--yes", "--json").json
    assert [each["model"] for each in found["models"]] == ["fast"]
