"""Measuring at the terminal whether a model follows a personality."""

import json
from typing import Any

import httpx
import pytest
from rich.cells import cell_len

from opencrab.domain.agents.soul import Personality, Soul
from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import agent_view

ADA = agent_view(
    "Ada",
    id="a1",
    soul=Soul(persona_name="Ada", personality=Personality(openness=0.9, neuroticism=0.1)),
)
PLAIN = agent_view("Plain", id="p1", soul=Soul(persona_name="Plain"))
TRAITS = ["openness", "neuroticism", "risk_tolerance", "depth_vs_breadth"]
"""Both traits, and the drives that follow from them."""


class Judge:
    """A server that finds openness as described, and no difference in anything else."""

    def __init__(self, server: Server, cost: int = 1_000) -> None:
        self.cost = cost
        self.asked: list[tuple[str, int]] = []
        server.on("GET /agents", page(ADA, PLAIN))
        server.on("POST /agents/a1/soul/trait-pair", self.answer)

    def answer(self, request: httpx.Request) -> httpx.Response:
        body: dict[str, Any] = json.loads(request.content)
        self.asked.append((body["name"], body["question"]))
        share = 1.0 if body["name"] == "openness" else 0.5
        found = {
            "name": body["name"],
            "question": "…",
            "high_answer": "x",
            "low_answer": "y",
            "share": share,
            "model": "ollama:llama",
            "judge": "openai:judge",
            "cost_micro_usd": self.cost,
        }
        return ok(found)


@pytest.fixture
def judge(server: Server) -> Judge:
    return Judge(server)


def test_each_number_that_is_not_neutral_gets_each_question(program: Program, judge: Judge) -> None:
    found = program.run("agents", "evaluate-persona", "Ada", "--yes", "--json").json
    assert judge.asked == [(name, n) for n in range(5) for name in TRAITS]
    assert [each["name"] for each in found["numbers"]] == TRAITS
    openness, calm = found["numbers"][:2]
    assert (openness["finding"], openness["pairs"], openness["share"]) == ("differs", 5, 1.0)
    assert (calm["finding"], calm["share"]) == ("not_shown", 0.5)
    assert found["spent_micro_usd"] == 20_000
    assert openness["answers"][0]["high_answer"] == "x"


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en",
            ("openness", "differs", "not shown", "100% (", "judge: openai:judge", "spent $0.016"),
        ),
        ("ja", ("開放性", "説明どおりに変わる", "差が見られない", "100%(", "判定: openai:judge")),
    ],
)
def test_what_was_found_is_drawn_in_both_languages(
    program: Program, judge: Judge, language: str, words: tuple[str, ...]
) -> None:
    args = ("agents", "evaluate-persona", "Ada", "--questions", "4", "--yes")
    said = program.sit("--language", language, *args, COLUMNS="80")

    assert [word for word in words if word not in said.out] == []
    assert max(map(cell_len, said.out.splitlines())) <= 80


def test_nothing_is_asked_once_the_money_is_spent(program: Program, server: Server) -> None:
    judge = Judge(server, cost=300_000)
    said = program.run("agents", "evaluate-persona", "Ada", "--yes")
    assert judge.asked == [("openness", 0), ("neuroticism", 0)]
    assert "not asked, because the budget is spent: risk tolerance, depth vs breadth" in said.out


@pytest.mark.parametrize(("language", "words"), [("en", "not asked"), ("ja", "質問していない")])
def test_what_was_paid_for_is_shown_if_a_later_call_fails(
    program: Program, server: Server, language: str, words: str
) -> None:
    judge = Judge(server)
    pair = judge.answer

    def fail_second(request: httpx.Request) -> httpx.Response:
        return problem(429, "the day is spent") if judge.asked else pair(request)

    server.on("POST /agents/a1/soul/trait-pair", fail_second)
    args = ("--language", language, "agents", "evaluate-persona", "Ada", "--yes")
    said = program.run(*args)
    assert said.code != 0
    assert "the day is spent" in said.err
    assert (words in said.out, "$0.001" in said.out) == (True, True), said.out


def test_nobody_is_asked_without_a_yes(program: Program, judge: Judge) -> None:
    args = ("agents", "evaluate-persona", "Ada", "--questions", "1")
    piped = program.run(*args)
    assert (piped.code, "--yes" in piped.err) == (2, True)
    refused = program.sit(*args, typed=["n"])
    assert (refused.code, "nothing was run" in refused.out) == (0, True)
    assert "up to 16 model calls" in refused.out
    assert judge.asked == []
    agreed = program.sit(*args, typed=["y"])
    assert (agreed.code, len(judge.asked)) == (0, 4)


@pytest.mark.parametrize(
    "args",
    [
        ("Plain",),
        ("Ada", "--questions", "9"),
        ("Ada", "--questions", "0"),
        ("Ada", "--budget-usd", "0"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    program: Program, judge: Judge, args: tuple[str, ...]
) -> None:
    refused = program.run("agents", "evaluate-persona", *args, "--yes")
    assert (refused.code, judge.asked) == (2, [])
