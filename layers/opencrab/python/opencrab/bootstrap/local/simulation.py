"""The composition of a simulated installation: a temporary home and a simulated clock."""

import logging
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from opencrab.domain.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opencrab.adapters.system_clock import FakeClock
    from opencrab.domain.value import Language
    from opencrab.engine.runtime import Runtime
    from opencrab.engine.simulation.result import SimulationResult

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
"""Start of every simulation, a Monday."""


def run_local_day_simulation(
    agents: int,
    hours: float,
    seed: int,
    language: "Language",
    tell: "Callable[[int], None]" = lambda _hour: None,
) -> "SimulationResult":
    """Simulate some hours of the founder agents with a simulated model.

    With more agents than founders the founders repeat. `tell` is called after every hour. Raises
    Invalid for a number out of range.
    """
    from opencrab.adapters.providers.scripted.player import scripted_breakers_among
    from opencrab.engine.agents.creation import create_agent
    from opencrab.engine.agents.presets import agent_from_preset, founder_presets
    from opencrab.engine.simulation.day import MOST_AGENTS, MOST_HOURS, simulate_day
    from opencrab.engine.simulation.owner import OWNER, simulated_agent_of_owner

    if not 1 <= agents <= MOST_AGENTS:
        raise Invalid(f"--agents must be from 1 to {MOST_AGENTS}, not {agents}", field="agents")
    if not 0 < hours <= MOST_HOURS:
        raise Invalid(
            f"--hours must be above 0 and at most {MOST_HOURS}, not {hours:g}", field="hours"
        )
    known = founder_presets()
    founders = [known[place % len(known)] for place in range(agents)]
    called = [each.words[language].name for each in founders]
    # With more agents than founders they repeat, with a number: promises are kept by name.
    rounds = [place // len(known) for place in range(agents)]
    called = [f"{name} {n + 1}" if n else name for name, n in zip(called, rounds, strict=True)]
    breakers = scripted_breakers_among(seed, tuple(called))
    with (
        _quietly(),
        TemporaryDirectory() as folder,
        simulated_local_installation(Path(folder), seed, breakers) as (runtime, clock),
    ):
        names = dict[str, str]()
        for place, (preset, name) in enumerate(zip(founders, called, strict=True)):
            new = simulated_agent_of_owner(agent_from_preset(preset, language, name), place)
            agent_id = f"founder-{place + 1:04d}"
            names[agent_id] = create_agent(runtime, new, owner=OWNER, agent_id=agent_id).agent.name
        return simulate_day(
            runtime, clock, names, hours=hours, seed=seed, breakers=breakers, tell=tell
        )


@contextmanager
def _quietly() -> "Iterator[None]":
    """Suppress log messages below ERROR of the simulated agents."""
    logger = logging.getLogger("opencrab")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def simulated_local_installation(
    folder: Path, seed: int, breakers: frozenset[str] = frozenset()
) -> "Iterator[tuple[Runtime, FakeClock]]":
    """Yield a complete installation in a folder, with a simulated model and a fixed clock."""
    from opencrab import settings
    from opencrab.actions import GROUPS, Registry
    from opencrab.adapters.local_files import LocalBlobs, LocalFiles
    from opencrab.adapters.providers.scripted.simulated import OnlyModel, SimulatedModel
    from opencrab.adapters.skill_files import FileSkills
    from opencrab.adapters.sqlite.home import open_sqlite_home
    from opencrab.adapters.system_clock import FakeClock
    from opencrab.bootstrap.consequences import CONSEQUENCES
    from opencrab.bootstrap.jobs import JOBS
    from opencrab.bootstrap.rules import configured_engine_rules
    from opencrab.engine.runtime import Runtime

    clock = FakeClock(START)
    files = LocalFiles(folder, quota_bytes=2**20 * 100)
    home, database = open_sqlite_home(
        folder, clock, files=files, blobs=LocalBlobs(folder), durable=False
    )
    skills = FileSkills(settings.skills_folder_setting())
    try:
        yield (
            Runtime(
                home=home,
                clock=clock,
                models=OnlyModel(SimulatedModel(seed, breakers)),
                actions=Registry(GROUPS, skills),
                rules=configured_engine_rules(settings.load_settings({})),
                skills=skills,
                consequences=CONSEQUENCES,
                jobs=JOBS,
            ),
            clock,
        )
    finally:
        database.close()
