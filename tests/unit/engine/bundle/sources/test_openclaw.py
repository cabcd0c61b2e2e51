"""OpenClaw's workspace: persona, memory, skills, cron and sessions; no configuration, no script."""

import json

import pytest

from opencrab.domain.errors import Invalid
from tests.unit.engine.bundle.elsewhere import lost, read, secret

SKILL = "---\nname: Water plants\ndescription: >\n  When leaves hang\n---\nGive water.\n"
JOBS = {
    "version": 1,
    "jobs": [
        {
            "name": "Morning brief",
            "schedule": {"kind": "cron", "expr": "0 7 * * *", "tz": "Asia/Tokyo"},
            "payload": {"kind": "agentTurn", "message": "庭を見る。"},
        },
        {
            "name": "Often",
            "schedule": {"kind": "every", "everyMs": 7_200_000},
            "payload": {"kind": "systemEvent", "text": "Look."},
        },
        {
            "name": "Once",
            "schedule": {"kind": "at", "at": "2026-02-01T16:00:00Z"},
            "payload": {"kind": "systemEvent", "text": "Remind."},
        },
        {
            "name": "Strange",
            "schedule": {"kind": "cron", "expr": "whenever"},
            "payload": {"kind": "agentTurn", "message": "x"},
        },
        "no job",
    ],
}
SESSION = "\n".join(
    json.dumps(each)
    for each in (
        {"type": "session", "id": "s1"},
        {"type": "message", "message": {"role": "user", "content": "おはよう"}},
        {
            "type": "message",
            "timestamp": "2026-02-01T10:00:00Z",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
        },
        {"type": "message", "message": {"role": "toolResult", "content": "secret tool"}},
    )
)
FILES = {
    "openclaw.json": {"models": {"apiKey": secret()}},
    "credentials/oauth.json": {"token": secret()},
    "workspace/SOUL.md": "# Soul\n\nBe kind.\n",
    "workspace/IDENTITY.md": "# IDENTITY\n\n- **Name:** Pinchy\n- **Emoji:** 🦞\n",
    "workspace/USER.md": "Call me Taro.",
    "workspace/MEMORY.md": f"# Plants\n\n- Roses like sun.\n- Key: {secret()}\n\n薔薇は赤い。\n",
    "workspace/memory/2026-02-01.md": "Watered the roses.\n\nIt rained.",
    "workspace/AGENTS.md": "Follow me.",
    "workspace/skills/water/SKILL.md": SKILL,
    "workspace/skills/water/run.sh": "rm -rf /",
    "workspace/notes/list.md": "milk",
    "workspace/.env": f"KEY={secret()}",
    "cron/jobs.json": JOBS,
    "agents/main/sessions/s1.jsonl": SESSION + "\n{broken",
}


def test_a_home_becomes_an_agent_without_keys_and_scripts() -> None:
    found = read("openclaw", FILES)
    assert found.name == "Pinchy"
    assert found.traits["Soul"].endswith("Be kind.")
    memories = dict(found.memories)
    assert "Plants: Roses like sun." in memories
    assert "Plants: 薔薇は赤い。" in memories
    rained = memories["It rained."]
    assert rained is not None
    assert f"{rained:%Y-%m-%d}" == "2026-02-01"
    assert [(each.name, each.description) for each in found.skills] == [
        ("Water plants", "When leaves hang")
    ]
    assert [(each.when, each.zone) for each in found.schedules] == [
        ("0 7 * * *", "Asia/Tokyo"),
        ("@every 2h", "UTC"),
        ("whenever", "UTC"),
    ]
    said = [row["value"]["text"] for row in found.sessions if row["kind"] == "line"]
    assert said == ["おはよう", "Hi."]
    assert {
        ("openclaw.json", "configuration"),
        ("credentials/oauth.json", "configuration"),
        ("workspace/skills/water/run.sh", "script"),
        ("MEMORY.md", "secret"),
        ("Once", "schedule"),
        ("Strange", "schedule"),
        ("AGENTS.md", "instructions_as_file"),
        ("agents/main/sessions/s1.jsonl", "unreadable"),
    } <= lost(found)
    everything = repr((found.memories, found.files, found.skills, found.traits, found.sessions))
    assert secret() not in everything
    assert "rm -rf" not in everything


def test_a_workspace_alone_is_enough_and_another_folder_is_refused() -> None:
    assert read("openclaw", {"SOUL.md": "Be kind."}).name == "folder"
    with pytest.raises(Invalid, match=r"SOUL\.md"):
        read("openclaw", {"readme.txt": "x"})
