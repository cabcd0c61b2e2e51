"""Bundles of agents that a reader found: what has no name of ours keeps a place of its own."""

import io
from datetime import UTC, datetime

from opencrab.domain.skills.skill import SKILL, AcquiredSkill
from opencrab.engine.bundle.found import FoundAgent, FoundSkill
from opencrab.engine.bundle.from_source import write_found_agent
from opencrab.engine.bundle.reader import BundleReader

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def test_skills_whose_names_have_no_latin_letter_are_all_taken() -> None:
    found = FoundAgent("openclaw", name="ピンチ")
    names = ("水やり", "剪定", "Water!", "water", "imported 2", "")
    found.skills += [FoundSkill(name, f"{name}のとき", f"{name}のしかた") for name in names]
    buffer = io.BytesIO()
    write_found_agent(found, buffer, NOW)
    rows = [row.value for row in BundleReader(buffer).rows() if row.kind == SKILL]
    skills = [each for each in rows if isinstance(each, AcquiredSkill)]
    assert [each.guidance for each in skills] == [f"{name}のしかた" for name in names]
    assert [each.name for each in skills][:4] == [
        "imported",
        "imported-2",
        "imported-water",
        "imported-water-4",
    ]
    assert not found.lost
