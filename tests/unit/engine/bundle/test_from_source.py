"""Bundles of agents that a reader found: what has no name of ours keeps a place of its own."""

import io
from datetime import UTC, datetime

from opencrab.domain.autonomy.schedule import SCHEDULE, SCHEDULES, Schedule
from opencrab.domain.bundle.manifest import LeftOut
from opencrab.domain.skills.skill import SKILL, AcquiredSkill
from opencrab.engine.bundle.found import FoundAgent, FoundSchedule, FoundSkill
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


def test_schedules_that_say_the_same_are_all_taken_up_to_the_limit_of_an_agent() -> None:
    found = FoundAgent("hermes", name="庭")
    found.schedules += [FoundSchedule("水", when, "見る。") for when in ("0 7 * * *", "0 20 * * *")]
    found.schedules += [FoundSchedule("水", "0 7 * * *", "見る。")] * 60
    buffer = io.BytesIO()
    write_found_agent(found, buffer, NOW)
    rows = [row.value for row in BundleReader(buffer).rows() if row.kind == SCHEDULE]
    schedules = [each for each in rows if isinstance(each, Schedule)]
    assert len({each.id for each in schedules}) == len(schedules) == SCHEDULES
    assert {each.when for each in schedules} == {"0 7 * * *", "0 20 * * *"}
    assert found.lost["schedules", "too_many"] == 62 - SCHEDULES


def test_of_thousands_of_files_that_are_lost_the_bundle_names_some_and_counts_all() -> None:
    found = FoundAgent("chatgpt", name="写真")
    for number in range(20_000):
        found.lose(f"file-{number:032d}-海辺の写真.png", "not_supported")
    found.lose("z", "secret")
    buffer = io.BytesIO()
    write_found_agent(found, buffer, NOW)
    left = BundleReader(buffer).manifest.left_out
    assert {why: sum(each.count for each in left if each.why == why) for why in _whys(left)} == {
        "not_supported": 20_000,
        "secret": 1,
    }
    assert "…" in {each.what for each in left}


def _whys(left: tuple[LeftOut, ...]) -> set[str]:
    return {each.why for each in left}
