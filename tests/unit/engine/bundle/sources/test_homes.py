"""Letta's agent files, Hermes' home and an Obsidian vault."""

import pytest

from opencrab.domain.errors import Invalid
from tests.unit.engine.bundle.elsewhere import lost, read, secret

BLOCKS = [
    {"id": "b1", "label": "persona", "value": "I am Sam."},
    {"id": "b2", "label": "human", "value": "Chad likes coding."},
    {"id": "b3", "label": "facts", "value": "- Roses are red.\n- 薔薇は赤い。"},
    {"id": "b9", "label": "facts", "value": "of another agent"},
]
MESSAGES = [
    {"role": "system", "content": [{"type": "text", "text": "SYSTEM"}]},
    {
        "role": "user",
        "content": [{"type": "text", "text": "hi"}],
        "created_at": "2025-04-01T00:00:00Z",
    },
    {"role": "assistant", "content": "やあ"},
    {"role": "tool", "content": "result"},
]
NEW = {
    "agents": [
        {
            "name": "Sam",
            "system": "You are…",
            "block_ids": ["b1", "b2", "b3"],
            "messages": MESSAGES,
            "tool_exec_environment_variables": {"KEY": secret()},
        },
        {"name": "Other", "block_ids": []},
    ],
    "blocks": BLOCKS,
    "tools": [{"name": "run_code", "source_code": "import os"}],
    "files": [],
}
OLD = {
    "agent_type": "memgpt_agent",
    "name": "Sam",
    "system": "You are…",
    "core_memory": BLOCKS[:3],
    "messages": MESSAGES,
    "tools": [{"name": "run_code", "source_code": "import os"}],
    "tool_exec_environment_variables": [{"key": "KEY", "value": secret()}],
}


@pytest.mark.parametrize("content", [NEW, OLD])
def test_an_agent_file_of_letta_brings_blocks_and_messages(content: object) -> None:
    found = read("letta", {"sam.af": content})
    assert (found.name, found.traits["Persona"]) == ("Sam", "I am Sam.")
    assert [text for text, _ in found.memories] == ["Roses are red.", "薔薇は赤い。"]
    said = [row["value"]["text"] for row in found.sessions if row["kind"] == "line"]
    assert said == ["hi", "やあ"]
    assert {
        ("system", "instructions"),
        ("run_code", "script"),
        ("tool_exec_environment_variables", "secret"),
    } <= lost(found)
    assert secret() not in repr(found)
    assert "import os" not in repr(found)


def test_hermes_brings_soul_memories_skills_and_jobs() -> None:
    found = read(
        "hermes",
        {
            "SOUL.md": "Name: Hermia\n\nBe brief.",
            "memories/MEMORY.md": f"Roses are red.\n§\n薔薇\nは赤い。\n§\nkey: {secret()}",
            "memories/USER.md": "Taro\n§\nlikes tea",
            "skills/garden/water/SKILL.md": "---\nname: water\ndescription: x\n---\nGive water.",
            "skills/garden/water/scripts/a.py": "import os",
            "cron/jobs.json": {
                "jobs": [
                    {
                        "name": "brief",
                        "prompt": "Look.",
                        "schedule": {"kind": "cron", "expr": "0 7 * * *"},
                    },
                    {"name": "often", "prompt": "Look.", "schedule": "every 2h"},
                    {"name": "once", "prompt": "Look.", "schedule": {"kind": "once"}},
                ]
            },
            "sessions/session_1.json": {"messages": [{"role": "user", "content": "hi"}]},
            "config.yaml": f"api_key: {secret()}",
            ".env": f"KEY={secret()}",
            "state.db": b"\x00\xff",
        },
    )
    assert found.name == "Hermia"
    assert [text for text, _ in found.memories] == [
        "Roses are red.",
        "薔薇\nは赤い。",
        "key: [removed]",
    ]
    assert [each.when for each in found.schedules] == ["0 7 * * *", "@every 2h"]
    assert [each.name for each in found.skills] == ["water"]
    assert {(".env", "configuration"), ("once", "schedule"), ("state.db", "database")} <= lost(
        found
    )
    assert secret() not in repr(found)


def test_a_vault_keeps_its_notes_and_leaves_out_settings() -> None:
    found = read(
        "obsidian",
        {
            "日記/2026-02-01.md": "[[薔薇]] に水をやった。",
            "薔薇.md": f"赤い。 token: {secret()}",
            "img/a.png": b"\x89PNG\xff",
            ".obsidian/plugins/x/main.js": "alert(1)",
            "bad:name?.md": "x",
            "a//b.md": "x",
        },
    )
    assert sorted(found.files) == [
        "vault/bad-name-.md",
        "vault/img/a.png",
        "vault/日記/2026-02-01.md",
        "vault/薔薇.md",
    ]
    assert secret().encode() not in found.files["vault/薔薇.md"]
    assert (".obsidian", "not_supported") in lost(found)
    assert ("vault/bad:name?.md", "renamed") in lost(found)
    assert ("vault/a//b.md", "path") in lost(found)


@pytest.mark.parametrize("source", ["letta", "hermes", "obsidian"])
def test_another_folder_is_refused_with_what_to_choose(source: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(source, {"x.txt": "{}"})
    assert refused.value.cure
