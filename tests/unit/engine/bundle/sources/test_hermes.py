"""Homes of Hermes as its program and its users leave them."""

import hashlib
import json
from typing import Any

from tests.unit.engine.bundle.elsewhere import lost, read, secret

WATER = "---\nname: water\ndescription: When leaves hang\n---\nGive water."
DRAW = "---\nname: pixel-art\n---\nDraw."


def digest(*files: tuple[str, str]) -> str:
    """What Hermes' list of the skills that it brought has for these files."""
    return hashlib.md5(
        b"".join(part.encode() for file in files for part in file), usedforsecurity=False
    ).hexdigest()


def spoken(found: Any) -> list[tuple[str, str]]:
    """Who said what."""
    rows = [each["value"] for each in found.sessions if each["kind"] == "line"]
    return [(row["speaker_name"], row["text"]) for row in rows]


def test_a_home_is_found_in_the_folder_that_holds_it_and_others_are_said() -> None:
    found = read(
        "hermes",
        {
            "README.md": "x",
            "memories/USER.md": "an older copy",
            ".hermes/SOUL.md": "静かに話す。",
            ".hermes/config.yaml": "model: x",
            ".hermes/memories/MEMORY.md": "§\n薔薇は赤い。\n§\n猫はミケ。",
            ".hermes/memories/MEMORY.md.lock": "",
            ".hermes/skills/garden/water/SKILL.md": WATER,
            ".hermes/cron/ticker_heartbeat": "1",
        },
    )
    assert found.traits == {"Soul": "静かに話す。"}
    assert [text for text, _ in found.memories] == ["薔薇は赤い。", "猫はミケ。"]
    assert [each.name for each in found.skills] == ["water"]
    assert {("memories", "not_supported"), ("README.md", "not_supported")} <= lost(found)
    assert ("memories/MEMORY.md.lock", "configuration") not in lost(found)


def test_of_a_home_with_profiles_the_home_itself_is_read() -> None:
    profile = {
        f"profiles/ceo/{name}": "x" for name in ("SOUL.md", "config.yaml", "memories/USER.md")
    }
    found = read("hermes", {"memory/MEMORY.md": "of the home", **profile})
    assert [text for text, _ in found.memories] == ["of the home"]
    assert found.lost["profiles", "not_supported"] == 3
    assert read("hermes", profile).traits == {"Soul": "x", "User": "x"}


def test_skills_that_hermes_brought_leave_room_for_the_agents_own() -> None:
    brought = {f"skills/art/s{n}/SKILL.md": f"---\nname: s{n}\n---\nDo." for n in range(30)}
    lines = [
        f"s{n}:{digest(('SKILL.md', brought[f'skills/art/s{n}/SKILL.md']))}" for n in range(30)
    ]
    lines += [f"pixel-art:{digest(('SKILL.md', DRAW), ('a/b.py', 'x'))}", "water:0", "old"]
    found = read(
        "hermes",
        {
            "SOUL.md": "Be brief.",
            **brought,
            "skills/.bundled_manifest": "\n".join(lines),
            "skills/art/pixel/SKILL.md": DRAW,
            "skills/art/pixel/a/b.py": "x",
            "skills/garden/water/SKILL.md": WATER,
            "skills/old/SKILL.md": "Old.",
            "skills/z/SKILL.md": "Own.",
            "skills/.archive/x/SKILL.md": WATER,
        },
    )
    assert [each.name for each in found.skills] == ["water", "z"]
    assert found.lost["skills that come with Hermes", "not_supported"] == 32
    assert found.lost["skills that were put away", "not_supported"] == 1


def test_jobs_go_by_the_zone_of_the_home_and_bring_no_script() -> None:
    def job(name: str, when: Any, prompt: str = "Look.", **more: Any) -> dict[str, Any]:
        return {"name": name, "prompt": prompt, "schedule": when, **more}

    cron = {"kind": "cron", "expr": "0 7 * * *"}
    jobs = [
        job("朝", cron),
        job("same", cron),
        job("same", {"kind": "cron", "expr": "0 20 * * *"}),
        job("same", cron),
        job("both", {"kind": "interval", "minutes": 5}, script="look.py"),
        job("script", cron, prompt="", script="rotate.sh", no_agent=True),
        job("once", {"kind": "once", "run_at": "2026-09-30T09:00:00+00:00"}),
        job(f"token: {secret()}", {"kind": "once"}),
    ]
    files = {"cron/jobs.json": {"jobs": jobs}, "config.yaml": "x: 1\ntimezone: 'Asia/Tokyo' # home"}
    found = read("hermes", files)
    assert [(each.name, each.when, each.zone) for each in found.schedules] == [
        ("朝", "0 7 * * *", "Asia/Tokyo"),
        ("same", "0 7 * * *", "Asia/Tokyo"),
        ("same", "0 20 * * *", "Asia/Tokyo"),
        ("same", "0 7 * * *", "Asia/Tokyo"),
        ("both", "@every 5m", "Asia/Tokyo"),
    ]
    assert {
        ("both: look.py", "script"),
        ("script: rotate.sh", "script"),
        ("once", "schedule"),
    } <= lost(found)
    assert secret() not in repr(found.lost)
    broken = read("hermes", {**files, "config.yaml": "timezone: ../../etc/passwd"})
    assert broken.schedules[0].zone == "UTC"


def message(number: int, role: str, content: Any, **more: Any) -> dict[str, Any]:
    """A row of the table of messages."""
    row = {"id": number, "session_id": "s1", "role": role, "content": content, "active": 1}
    return {**row, "timestamp": 1788250500.5 + number, **more}


PARTS = json.dumps([{"type": "text", "text": "この写真は?"}, {"type": "image_url"}])
DATABASE = {
    "sessions": [
        {"id": "s1", "title": "薔薇", "source": "telegram", "system_prompt": "RULES"},
        {"id": "s2", "title": None, "source": "cron"},
        {"id": "s3", "title": None, "source": "cli"},
    ],
    "messages": [
        message(5, "user", "\x00json:" + PARTS),
        message(1, "user", "水やりは? 🌹"),
        message(2, "assistant", None, tool_calls="[]", reasoning="HIDDEN"),
        message(3, "tool", "RESULT"),
        message(4, "assistant", "毎朝。", reasoning="HIDDEN"),
        message(6, "user", "no, wait", active=0, compacted=0),
        message(7, "user", "\x00json:{broken"),
        message(8, "user", "earlier", active=0, compacted=1),
        message(9, "user", "Look.", session_id="s2"),
        message(10, "user", "\ud83c", session_id=None),
    ],
}


def test_a_database_brings_what_was_said_and_no_thoughts_tools_or_prompts() -> None:
    old = {"messages": [{"role": "user", "content": "twice"}]}
    found = read(
        "hermes",
        {
            "state.db": DATABASE,
            "state.db-wal": "",
            "sessions/session_s1.json": old,
            "sessions/session_s0.json": {"messages": [{"role": "user", "content": "before"}]},
            "sessions/s4.jsonl": '{"role": "meta"}\n{"role": "user", "content": "in a line"}\n{',
            "sessions/session_s5.json": {"messages": []},
            "sessions/sessions.json": {},
        },
    )
    assert spoken(found) == [
        ("user", "\ufffd"),
        ("user", "水やりは? 🌹"),
        ("assistant", "毎朝。"),
        ("user", "この写真は?"),
        ("user", "earlier"),
        ("user", "in a line"),
        ("user", "before"),
    ]
    titles = [each["value"]["name"] for each in found.sessions if each["kind"] == "session"]
    assert titles[1:] == ["薔薇", "s4", "session_s0"]
    assert found.sessions[3]["value"]["at"].startswith("2026-09-01T")
    for never in ("RULES", "HIDDEN", "RESULT", "no, wait"):
        assert never not in repr(found)
    assert {
        ("messages that were withdrawn", "branch"),
        ("conversations of scheduled jobs", "not_supported"),
        ("sessions/s4.jsonl", "unreadable"),
    } <= lost(found)


def test_a_soul_that_nobody_wrote_is_no_persona() -> None:
    scaffold = "# Hermes Agent Persona\n\n<!--\nEdit this to customize.\n-->\n"
    found = read("hermes", {"SOUL.md": scaffold, "memories/USER.md": "Taro"})
    assert found.traits == {"User": "Taro"}
    assert ("SOUL.md", "empty") in lost(found)
    written = read("hermes", {"SOUL.md": f"{scaffold}話は短く。"})
    assert "話は短く。" in written.traits["Soul"]
