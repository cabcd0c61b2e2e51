"""`opencrab admin simulate`: the same day for the same seed, and no call without a reason."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from opencrab.bootstrap.local.simulation import (
    run_local_day_simulation,
    simulated_local_installation,
)
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.errors import Invalid
from opencrab.domain.value import Language
from opencrab.engine.agents.creation import NewAgent, create_agent
from opencrab.engine.simulation.day import simulate_day
from opencrab.engine.simulation.result import SimulationResult
from opencrab.gateways.cli.app import build_cli_app
from opencrab.gateways.cli.terminal.options import Options

FIELDS = {
    "trust_auc",
    "checked_share",
    "kept",
    "calls_beyond_share",
    "goal_ends",
    "beats",
    "turns",
    "model_calls",
    "model_calls_without_reason",
    "spend_micro_usd",
}


@pytest.fixture(scope="module")
def day() -> SimulationResult:
    return run_local_day_simulation(2, 8, 1, Language.JA)


def test_agents_with_instructions_live_and_mostly_sleep(day: SimulationResult) -> None:
    assert day.beats == sum(life.beats for life in day.by_agent.values())
    # At least one an hour, and more where something calls for it; none for every interval of 61 s.
    assert all(8 <= life.beats < 8 * 3_600 // 61 // 10 for life in day.by_agent.values())
    assert day.model_calls > 0
    assert day.goals_by_source
    assert day.idle_share > 0.5
    assert 0 < day.spend_micro_usd < 2 * 250_000


def test_agents_meet_keep_or_break_promises_and_end_goals_by_conditions(
    day: SimulationResult,
) -> None:
    assert {"owner", "role", "social"} <= day.goals_by_source.keys()
    assert day.promises == 2
    assert day.checked_share >= 0.6
    assert [life.breaks_promises for life in day.by_agent.values()].count(True) == 1
    assert all(life.trust is not None for life in day.by_agent.values())


def test_the_share_of_the_day_is_used_and_never_exceeded(day: SimulationResult) -> None:
    assert all(0 < life.most_of_share < 1 for life in day.by_agent.values())
    assert day.calls_beyond_share == 0


def test_no_model_is_asked_without_a_reason(day: SimulationResult) -> None:
    assert day.model_calls_without_reason == 0
    assert day.turns <= day.model_calls


def test_the_same_seed_is_the_same_day_and_another_seed_another(day: SimulationResult) -> None:
    assert run_local_day_simulation(2, 8, 1, Language.JA) == day
    assert run_local_day_simulation(2, 8, 2, Language.JA) != day


def test_agents_with_nothing_due_cost_nothing(tmp_path: Path) -> None:
    with simulated_local_installation(tmp_path, 1) as (runtime, clock):
        for name, heartbeat in (("quiet", Heartbeat()), ("off", Heartbeat(enabled=False))):
            new = NewAgent(name=name, heartbeat=heartbeat)
            create_agent(runtime, new, owner="o", agent_id=name)
        found = simulate_day(runtime, clock, {"quiet": "quiet", "off": "off"}, hours=1, seed=0)
    quiet, off = found.by_agent["quiet"], found.by_agent["off"]
    assert (quiet.beats, quiet.idle_beats) == (1, 1)
    assert (off.beats, off.turns) == (0, 0)
    assert (found.model_calls, found.spend_micro_usd) == (0, 0)


@pytest.mark.parametrize(("agents", "hours"), [(0, 1), (-1, 1), (1_001, 1), (1, 0), (1, 10_000)])
def test_a_number_out_of_range_is_refused(agents: int, hours: float) -> None:
    with pytest.raises(Invalid, match=r"--agents|--hours"):
        run_local_day_simulation(agents, hours, 1, Language.EN)


@pytest.mark.parametrize(("language", "told"), [("en", "without a reason"), ("ja", "理由なし")])
def test_the_command_tells_it_in_both_languages(
    language: str, told: str, day: SimulationResult
) -> None:
    app = build_cli_app(lambda _options: 0, Options(simulation=lambda *_given: day))
    shown = CliRunner().invoke(app, ["simulate", "--language", language])
    assert shown.exit_code == 0, shown.output
    assert told in shown.output
    assert all(name in shown.output for name in day.by_agent)


def test_json_is_one_object_with_the_same_numbers(day: SimulationResult) -> None:
    app = build_cli_app(lambda _options: 0, Options(simulation=lambda *_given: day))
    shown = CliRunner().invoke(app, ["simulate", "--json"])
    found = json.loads(shown.output)
    assert FIELDS | {"by_agent"} <= found.keys()
    assert found["beats"] == day.beats


def test_every_simulated_hour_is_told() -> None:
    told = list[int]()
    run_local_day_simulation(1, 2.5, 1, Language.EN, told.append)
    assert told == [1, 2]
    told.clear()
    run_local_day_simulation(1, 2, 1, Language.EN, told.append)
    assert told == [1, 2]


@pytest.mark.parametrize(
    ("language", "line"), [("en", "simulated 3 of 24 hours"), ("ja", "24 時間のうち 3 時間")]
)
def test_progress_is_a_line_for_each_hour_on_standard_error(
    language: str, line: str, day: SimulationResult
) -> None:
    def simulated(*given: Any) -> SimulationResult:
        given[-1](3)
        return day

    app = build_cli_app(lambda _options: 0, Options(simulation=simulated))
    shown = CliRunner().invoke(app, ["admin", "simulate", "--json", "--language", language])
    assert line in shown.stderr
    assert json.loads(shown.stdout)["beats"] == day.beats
