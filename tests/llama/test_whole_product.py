"""The whole product with all default actions and default settings, before a real llama.cpp server.

Its model is made of our own pages (tests/llama/model): what it says makes little sense, so the
tests tell what must hold whatever it says. `whole` judges each prompt, call and record at the end.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.system_clock import SystemClock
from opencrab.gateways.cli.scripting.exit_code import ExitCode
from tests.conftest import ROOT
from tests.docs.page import SHELL, read_page
from tests.llama.relay import Exchange
from tests.llama.server import LlamaServer
from tests.llama.whole import Whole, whole
from tests.soak import SOAK, count

pytest_plugins = ["tests.llama.fixture"]

DEFAULT_ACTIONS = {"find_actions", "plan_goal", "save_memory", "send_speech", "use_skill"}
"""Some of each kind."""

TURNS = 40
"""So many turns without a tool call do not happen: half of them have one."""

DAY = 86_400.0
LINES = count("lines of a session that a small real model summarises")
NOT_DONE = {ExitCode.FAILED, ExitCode.STOPPED, ExitCode.WAITING}
OVER = {"completed", "answered", "paused", "waiting"}
both_languages = pytest.mark.parametrize("language", ["en", "ja"])
patient = pytest.mark.timeout(600)


def _tour(language: str) -> list[str]:
    """The commands of README's tour."""
    page = read_page(ROOT / ("README.md" if language == "en" else "README.ja.md"))
    steps = (step for block in page.blocks for step in block.steps)
    typed = [" ".join(step.typed) for step in steps if step.prompt == SHELL]
    return [command for command in typed if command.startswith("opencrab ")]


def _offered(exchange: Exchange) -> set[str]:
    return {tool["function"]["name"] for tool in exchange.request.get("tools", ())}


@patient
@both_languages
def test_the_tour_of_the_readme_comes_to_its_end(
    tmp_path: Path, large: LlamaServer, language: str
) -> None:
    commands = _tour(language)
    assert [command.split()[1] for command in commands].count("chat") >= 2
    with whole(tmp_path, large) as crab:
        for command in commands:
            code, said = crab.type(command, language=language)
            done = command.split()[1] != "tasks" or _task(crab, "G1")["status"] == "completed"
            assert code in ({ExitCode.OK} if done else NOT_DONE), f"{command}: {said}"
        assert _offered(crab.exchanges[0]) >= DEFAULT_ACTIONS
        assert len(crab.exchanges) >= 3


def _task(crab: Whole, task_id: str) -> dict[str, Any]:
    """A task of the only agent, which is over."""
    task: dict[str, Any] = crab.running.call("GET", f"/agents/{crab.agents()[0]}/tasks/{task_id}")
    assert task["status"] in OVER, task
    return task


@patient
def test_a_conversation_calls_tools_and_finds_its_prompt_in_the_cache(
    tmp_path: Path, large: LlamaServer
) -> None:
    with whole(tmp_path, large) as crab:
        crab.agent("Rowan", "en", purpose="Keep my notes.")
        story = _acting_turn(crab)
        called = [call for step in story["steps"] for call in step["calls"]]
        assert {call["state"] for call in called} <= {"completed", "failed", "refused", "running"}
        assert len(crab.exchanges) >= 2
        for before, after in pairwise(crab.exchanges):
            assert after.cached_tokens > before.usage["prompt_tokens"] * 0.8


def _acting_turn(crab: Whole) -> dict[str, Any]:
    """Talk until a turn calls a tool and looks at the result; its story."""
    for number in range(TURNS):
        code, said = crab.type("opencrab chat Rowan", typed=f"write {number}.md: walk, read\n")
        assert code == 0, said
        crab.wait_until_quiet()
        newest = crab.running.call("GET", "/turns?limit=1")["items"][0]["id"]
        story = crab.story(newest)
        if len(story["steps"]) > 1 and story["steps"][0]["calls"]:
            return story
    pytest.fail(f"the model called nothing in {TURNS} turns")


@patient
@both_languages
def test_an_instruction_is_worked_on_until_it_is_reported_or_cancelled(
    tmp_path: Path, large: LlamaServer, language: str
) -> None:
    instruction = {
        "en": "plan my week, then write week.md",
        "ja": "一週間を計画して、week.mdに書いて",
    }
    with whole(tmp_path, large) as crab:
        agent_id = crab.agent("Rowan", language, purpose="Keep my notes.")
        code, said = crab.type(f'opencrab tasks run Rowan "{instruction[language]}"')
        first = _task(crab, "G1")
        assert (code == 0) == (first["status"] == "completed"), said
        assert first["actions"] or first["report"] or first["pause_reason"]
        _, shown = crab.type("opencrab tasks show Rowan G1 --details", language=language)
        for action in first["actions"]:
            assert action["action"] in shown
        path = f"/agents/{agent_id}/tasks"
        crab.running.call("POST", path, {"instruction": instruction[language]})
        crab.type("opencrab tasks cancel Rowan G2")
        second = crab.wait_for(lambda: _ended(crab.running.call("GET", f"{path}/G2")))
        assert second["status"] in OVER | {"abandoned"}


def _ended(task: dict[str, Any]) -> dict[str, Any] | None:
    return None if task["status"] in {"pending", "active"} else task


@patient
def test_three_agents_discuss_until_it_ends_and_an_outcome_is_asked_for(
    tmp_path: Path, large: LlamaServer
) -> None:
    names = {"Bram": "en", "葵": "ja", "Cora": "en"}
    with whole(tmp_path, large) as crab:
        people = [crab.agent(name, language) for name, language in names.items()]
        made = {"participants": people, "theme": "浜辺の催し An event at the beach", "max_turns": 5}
        session_id = crab.running.call("POST", "/sessions", made)["id"]
        text = "Agree on one event. 催しをひとつ決めてください。"
        crab.running.call("POST", f"/sessions/{session_id}/messages", {"text": text})
        place = f"/sessions/{session_id}"
        ended = crab.wait_for(lambda: crab.running.call("GET", place)["ended_by"])
        assert ended in {"done", "max_turns", "quiet", "no_novelty", "hops"}
        crab.wait_until_quiet()
        code, fairness = crab.type(f"opencrab sessions show {session_id} --fairness")
        assert code == 0
        assert all(name in fairness for name in names)
        spoke = {turn["agent_id"] for turn in crab.running.call("GET", "/turns?limit=100")["items"]}
        assert spoke == set(people)
        # Its writer is asked for after the last turn: nothing may run between the two.
        crab.wait_for(
            lambda: crab.running.call("GET", f"{place}/outcome")["state"] in {"written", "unknown"}
        )


@patient
@pytest.mark.parametrize("language", ["en", "ja"] if SOAK else ["ja"])
def test_a_night_summarises_the_day_words_its_report_and_plans_instructions(
    tmp_path: Path, large: LlamaServer, language: str
) -> None:
    every = {"OPENCRAB_MEMORY__COMPACT_EVERY_LINES": str(LINES)}
    with whole(tmp_path, large, more=every) as crab:
        agent_id = crab.agent("Rowan", language, purpose="Keep my notes.")
        path = f"/agents/{agent_id}/llm/config"
        crab.running.call("PUT", path, {"aim": {"worded": True}})
        code, said = crab.type('opencrab heartbeats set Rowan --instructions "Write hello.md: 蟹"')
        assert code == 0, said
        _talk_until_it_is_long(crab, agent_id)
        status = f"/agents/{agent_id}/memory/status"
        crab.wait_for(lambda: _summarised(crab.running.call("GET", status)))
        day = crab.exchanges
    now = SystemClock().now()
    ahead = DAY - (now - now.replace(hour=19, minute=0)).total_seconds()
    with whole(tmp_path, large, seconds_ahead=ahead, earlier=day, more=every) as crab:
        report = f"opencrab workspace read Rowan reports/learning/{now:%Y-%m-%d}.md"
        crab.wait_for(lambda: crab.type(report)[0] == 0)
        plan = f"/agents/{agent_id}/instruction-plan"
        crab.wait_for(lambda: _is_answered(crab.running.call("GET", plan)))
        assert any("response_format" in each.request for each in crab.exchanges)
        code, shown = crab.type("opencrab learning changes Rowan")
        assert code == 0, shown


def _talk_until_it_is_long(crab: Whole, agent_id: str) -> None:
    """Talk until a session has so many lines; in another one where the agent declared it done."""
    for _ in range(TURNS):
        session = crab.running.call("POST", "/sessions", {"participants": [agent_id]})["id"]
        place = f"/sessions/{session}"
        while crab.running.call("GET", place)["status"] == "active":
            if len(crab.running.call("GET", f"{place}/messages?limit=100")["items"]) >= LINES:
                return
            crab.running.say(session, "今日の話をして。 Tell me of your day.", wait=60)
            crab.wait_until_quiet()
    pytest.fail(f"each of {TURNS} sessions ended before it had {LINES} lines")


def _summarised(status: dict[str, Any]) -> bool:
    """Whether a summary was stored, or what the model said was counted as none."""
    return any(each["summarised"] or each["failures"] for each in status["sessions"])


def _is_answered(plan: dict[str, Any]) -> bool:
    """Whether the model's plan was taken, or refused with a reason."""
    return plan["state"] == "planned" or bool(plan["why"])
