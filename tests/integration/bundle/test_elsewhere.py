"""Agents of other programs: nothing without --yes, and nothing trusted before it is adopted."""

import json
import sqlite3
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.integration.bundle.moving import Place


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace of OpenClaw, with a link out of it."""
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "skills" / "water").mkdir(parents=True)
    (folder / "SOUL.md").write_text("Be kind.", encoding="utf-8")
    (folder / "IDENTITY.md").write_text("- **Name:** Pinchy\n", encoding="utf-8")
    (folder / "memory" / "2026-02-01.md").write_text("薔薇に水をやった。", encoding="utf-8")
    skill = "---\nname: water\ndescription: When leaves hang\n---\nGive water."
    (folder / "skills" / "water" / "SKILL.md").write_text(skill, encoding="utf-8")
    outside = tmp_path / "outside.md"
    outside.write_text("private", encoding="utf-8")
    (folder / "link.md").symlink_to(outside)
    (folder / "folder").symlink_to(tmp_path)
    return folder


@pytest.mark.parametrize("home", ["here", "there"])
def test_a_source_is_shown_first_and_imported_as_untrusted(
    workspace: Path, home: str, request: pytest.FixtureRequest
) -> None:
    place: Place = request.getfixturevalue(home)
    shown = place.run("import", "openclaw", workspace)
    assert "memories" in shown.out
    assert "in its prompt from the start" in shown.out
    assert "--yes" in shown.err
    assert place.agents() == []
    made = place.run("--json", "agents", "import-from", "openclaw", workspace, "--yes").json
    assert place.agents() == ["Pinchy"]
    stored = place.stored(made["id"])
    (memory,) = stored["memory"].values()
    assert memory["content"] == "薔薇に水をやった。"
    assert (memory["tainted"], memory["provenance"]) == (True, "import")
    assert memory["category"] == "import_openclaw"
    assert memory["created_at"].startswith("2026-02-01")
    assert [skill["status"] for skill in stored["skill"].values()] == ["quarantined"]
    assert "file" not in stored
    adopted = place.run("--json", "memory", "adopt", "--agent", "Pinchy", "--yes").json
    assert len(adopted["adopted"]) == 1


def test_names_in_a_zip_lead_nowhere(here: Place, tmp_path: Path) -> None:
    source = tmp_path / "workspace.zip"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("SOUL.md", "Be kind.")
        archive.writestr("../../../escape.md", "x")
        archive.writestr("/etc/escape.md", "x")
        archive.writestr("notes/ok.md", "milk")
    made = here.run("--json", "import", "openclaw", source, "--as", "Zip", "--yes").json
    assert list(here.stored(made["id"])["file"]) == ["imported/openclaw/notes/ok.md"]
    assert not list(tmp_path.rglob("escape.md"))


def test_what_cannot_be_read_says_so_and_imports_nothing(here: Place, tmp_path: Path) -> None:
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK\x03\x04broken")
    for source, path in (
        ("openclaw", tmp_path / "nothing"),
        ("openclaw", broken),
        ("chatgpt", tmp_path),
        ("elsewhere", broken),
    ):
        said = here.program.run("import", source, str(path), "--yes")
        assert said.code != 0
        assert "→" in said.err
    assert here.agents() == []


def test_a_database_is_read_and_not_run(here: Place, tmp_path: Path) -> None:
    path = tmp_path / "opencrab.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE soul (agent_id, persona_name, personality_json)")
        database.execute("INSERT INTO soul VALUES ('a', 'カニ', '{\"openness\": -1.0}')")
        database.execute("CREATE VIEW memory_curated AS SELECT 'a' agent_id, 'x' content")
    before = path.read_bytes()
    made = here.run("--json", "agents", "import-from", "opencrab-plan", path, "--yes").json
    profile = here.home.agents.get(made["id"])
    assert (profile.agent.name, profile.soul.personality.openness) == ("カニ", 0.0)
    assert "memory" not in here.stored(made["id"])
    assert path.read_bytes() == before
    path.write_bytes(b"SQLite format 3\x00" + b"broken" * 100)
    said = here.program.run("import", "opencrab-plan", str(path), "--yes")
    assert said.code != 0
    assert "not a readable SQLite database" in said.err


def test_what_is_written_for_other_programs_is_read_back_without_secrets_of_memory(
    here: Place, rowan: str, tmp_path: Path
) -> None:
    card, file = tmp_path / "card.json", tmp_path / "rowan.af"
    here.run("agents", "bundle", "Rowan", "--format", "character-card", "--to", card)
    here.run("agents", "bundle", "Rowan", "--format", "letta", "--to", file)
    told = json.loads(card.read_text(encoding="utf-8"))
    assert (told["spec"], told["data"]["name"]) == ("chara_card_v3", "Rowan")
    assert "癖: よく笑う 🦀" in told["data"]["personality"]
    assert "庭の手入れを手伝う。" in told["data"]["description"]
    assert "薔薇" not in card.read_text(encoding="utf-8")
    blocks = {each["label"]: each["value"] for each in json.loads(file.read_bytes())["blocks"]}
    assert "薔薇は日なたが好き。" in blocks["memories"]
    assert "six hours" not in blocks["memories"]
    assert "太郎" not in blocks["memories"]
    made = here.run(
        *("--json", "agents", "import-from", "character-card", card, "--as", "Card", "--yes")
    ).json
    traits = here.home.agents.get(made["id"]).soul.custom_traits
    assert "癖: よく笑う 🦀" in traits["Personality"]
    again = tmp_path / "again.json"
    here.run("agents", "bundle", "Card", "--format", "character-card", "--to", again)
    assert json.loads(again.read_bytes())["data"]["personality"] == told["data"]["personality"]
    other = here.run(
        *("--json", "agents", "import-from", "letta", file, "--as", "File", "--yes")
    ).json
    assert len(here.stored(other["id"])["memory"]) == 2


def test_an_interrupted_import_from_elsewhere_is_undone_as_its_error_says(
    here: Place, workspace: Path
) -> None:
    named = ("agents", "import-from", "openclaw", str(workspace), "--as", "Pinchy II")
    here.server.breaks = lambda request: (
        httpx.ReadError("reset", request=request) if "/finish" in str(request.url) else None
    )
    said = here.program.run(*named, "--yes")
    here.server.breaks = lambda _: None
    assert said.code != 0
    assert "--undo" in said.err
    (left,) = here.house.got("/agent-imports")["items"]
    here.run(*named, "--undo")
    assert here.house.got("/agent-imports") == {"items": []}
    assert here.stored(left["agent_id"]) == {}


def test_what_is_lost_is_said_in_the_readers_language(here: Place, tmp_path: Path) -> None:
    message = {"sender": "assistant", "content": [{"type": "thinking"}], "text": "やあ"}
    export = tmp_path / "conversations.json"
    export.write_text(json.dumps([{"uuid": "u", "chat_messages": [message]}]), encoding="utf-8")
    for language, words in (
        ("en", "thoughts and tool calls (1)"),
        ("ja", "思考とツール呼び出し(1"),
    ):
        assert words in here.run("--language", language, "import", "claude", export).out
    told = here.run("--json", "import", "claude", export).json
    assert told["left_out"][0]["what"] == "thoughts and tool calls"
