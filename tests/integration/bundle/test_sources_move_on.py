"""An agent of each source moves on: from SQLite to AWS, as the same bundle."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from opencrab.engine.bundle.sources import SOURCES
from tests.integration.bundle.moving import Place, members

AT = "2026-01-21T12:00:00Z"
CARD = {
    "spec": "chara_card_v3",
    "data": {
        "name": "蟹江",
        "description": "{{char}} guards the reef. " * 200,
        "first_mes": "やあ。",
        "character_book": {"entries": [{"keys": ["潮"], "content": "{{user}}: 潮は?"}]},
    },
}
SAID = {
    "author": {"role": "user"},
    "content": {"parts": ["蟹は横に歩く? 🦀"]},
    "create_time": 1.5e9,
}
CHATGPT = [{"id": "c1", "title": "蟹", "mapping": {"a": {"message": SAID}}, "create_time": 1.5e9}]
CLAUDE = [{"uuid": "u1", "name": "薔薇", "chat_messages": [{"sender": "human", "text": "やあ"}]}]
BLOCK = {"label": "persona", "value": "I am Sam."}
LETTA = {
    "name": "Sam",
    "core_memory": [BLOCK, {"label": "facts", "value": "- 薔薇は赤い。"}],
    "messages": [{"role": "user", "content": "hi", "created_at": AT}],
}
JOB = {"name": "朝", "prompt": "見る。", "schedule": {"kind": "cron", "expr": "0 7 * * *"}}
SKILL = "---\nname: water\ndescription: When leaves hang\n---\nGive water."
EVENT = {"time": AT, "type": "input", "source": "chat", "text": "READMEを更新して"}
GOAL = {"id": "G1", "name": "文書", "tasks": [{"name": "README", "status": "pending"}]}

TEXTS: dict[str, dict[str, Any]] = {
    "character-card": {"card.json": CARD},
    "chatgpt": {"conversations.json": CHATGPT},
    "claude": {"conversations.json": CLAUDE},
    "letta": {"sam.af": LETTA},
    "openclaw": {"SOUL.md": "親切。", "memory/2026-02-01.md": "水をやった。", "notes/庭.md": "x"},
    "hermes": {"SOUL.md": "簡潔。", "cron/jobs.json": {"jobs": [JOB]}, "skills/w/SKILL.md": SKILL},
    "obsidian": {"薔薇.md": "[[庭]]", "Board.canvas": "{}", "img/a?.png": "x"},
    "avatar": {"data/state.json": {"plan": {"purpose": "手伝う", "goals": [GOAL]}}},
    "opencrab-plan": {},
}


def specimen(folder: Path, source: str) -> Path:
    """A folder with a small source of ours."""
    place = folder / source
    place.mkdir()
    for name, content in TEXTS[source].items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        file.write_text(text, encoding="utf-8")
    if source == "avatar":
        (place / "data" / "events.jsonl").write_text(json.dumps(EVENT), encoding="utf-8")
    if source in {"hermes", "opencrab-plan"}:
        _write_databases(place)
    return place


def _write_databases(place: Path) -> None:
    with sqlite3.connect(place / "state.db") as home:
        home.execute("CREATE TABLE sessions (id, title, source)")
        home.execute("CREATE TABLE messages (id, session_id, role, content, timestamp, active)")
        home.execute("INSERT INTO sessions VALUES ('s1', '薔薇', 'cli')")
        home.execute("INSERT INTO messages VALUES (1, 's1', 'user', 'やあ', 1788250500.5, 1)")
    with sqlite3.connect(place / "opencrab.db") as plan:
        plan.execute("CREATE TABLE agents (agent_id, name, persona_name, personality)")
        plan.execute("INSERT INTO agents VALUES ('a', 'Kani', 'カニ', '静か')")
        plan.execute("CREATE TABLE memory_curated (agent_id, content, updated_at)")
        plan.execute(f"INSERT INTO memory_curated VALUES ('a', '潮は満ちる。', '{AT}')")  # noqa: S608 - a date of ours


def test_an_agent_of_each_source_moves_to_aws_and_makes_the_same_bundle(
    here: Place, there: Place, tmp_path: Path
) -> None:
    assert TEXTS.keys() == SOURCES.keys()
    for source in SOURCES:
        first, second = (tmp_path / f"{source}-{name}.zip" for name in ("first", "second"))
        path = specimen(tmp_path, source)
        here.run("agents", "import-from", source, path, "--as", f"蟹 {source}", "--yes")
        here.run("agents", "bundle", f"蟹 {source}", "--to", first, "--people")
        there.run("agents", "import", first, "--trust")
        there.run("agents", "bundle", f"蟹 {source}", "--to", second, "--people")
        before = members(first)
        assert members(second) == before, source
        assert len(before) > 2, source
    assert len(there.agents()) == len(SOURCES)
