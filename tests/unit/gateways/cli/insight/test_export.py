"""An agent's state and history in files: replaced whole, added to once, never overwritten."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from opencrab.gateways.cli.insight.export_files import DamagedExport, HistoryFile
from tests.unit.gateways.cli.server import Program, Said, Server, ok, page
from tests.unit.gateways.cli.views import agent_view

ADA, SAKURA = agent_view("Ada"), agent_view("さくら", id="sakura-id")
STATE: dict[str, Any] = {
    "input": {"source": "rest", "authority": "owner", "text": "蟹"},
    "plan": {"purpose": None, "goals": []},
    "thought": {"judgment": None, "intent": None},
    "action": {"phase": None, "summary": None},
    "result": {"status": "done", "summary": "…"},
}
EVENTS = [
    {"time": "2026-01-21T12:00:00Z", "type": "input", "source": "rest", "text": "蟹は横に歩く"},
    {"time": "2026-01-21T12:00:01Z", "type": "action", "summary": "Write a file"},
    {"time": "2026-01-21T12:00:02Z", "type": "result", "status": "done", "summary": "ok"},
]
LINES = [json.dumps(event, ensure_ascii=False) + "\n" for event in EVENTS]


class History:
    """A history that grows; one page has two events."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        after = int(request.url.params.get("after", "0"))
        lines = self.lines[after : after + 2]
        place = after + len(lines)
        headers = {"Content-Type": "application/x-ndjson"}
        headers |= {"X-OpenCrab-Next-Cursor": f"{place}"} if place else {}
        return httpx.Response(200, content="".join(lines).encode(), headers=headers)


@pytest.fixture
def history() -> History:
    return History()


@pytest.fixture
def server(history: History) -> Server:
    """One agent with a state, and a history that begins empty."""
    server = Server()
    server.on("GET /agents", page(ADA))
    for agent in (ADA, SAKURA):
        server.on(f"GET /agents/{agent['id']}/state", ok(STATE))
        server.on(f"GET /agents/{agent['id']}/events", history)
    return server


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return tmp_path / "中" / "logs"


def export(program: Program, logs: Path, *more: str) -> Said:
    return program.run("export", "state", *more, "--directory", str(logs))


def content(logs: Path) -> str:
    return (logs / "events.jsonl").read_bytes().decode()


def test_an_export_twice_adds_nothing_twice(program: Program, history: History, logs: Path) -> None:
    history.lines = LINES[:2]
    said = export(program, logs, "--json").json
    assert said["count"] == 2
    assert content(logs) == "".join(LINES[:2])
    wanted = json.dumps(STATE, ensure_ascii=False, indent=2) + "\n"
    assert (logs / "state.json").read_bytes() == wanted.encode()
    assert export(program, logs, "--json").json["count"] == 0
    history.lines = LINES
    assert export(program, logs, "--json").json["count"] == 1
    assert content(logs) == "".join(LINES)
    assert {path.stat().st_mode & 0o777 for path in logs.iterdir()} == {0o600}


def test_without_a_past_there_is_a_state_and_no_history(program: Program, logs: Path) -> None:
    assert export(program, logs).code == 0
    assert [path.name for path in logs.iterdir()] == ["state.json"]
    assert export(program, logs).code == 0


FOREIGN = [
    (name, damage)
    for name in ("state.json", "events.jsonl", "events.cursor")
    for damage in (b"", b"[]", b"{}", b"not JSON", b'{"input": 1}', b"\xff")
]


@pytest.mark.parametrize("foreign", FOREIGN)
def test_a_foreign_file_is_reported_and_left_alone(
    program: Program, history: History, logs: Path, foreign: tuple[str, bytes]
) -> None:
    name, damage = foreign
    history.lines = LINES
    logs.mkdir(parents=True)
    (logs / name).write_bytes(damage)
    for language, said in (("en", "not an export"), ("ja", "書き出しではない")):
        shown = export(program, logs, "--language", language)
        assert shown.code == 6
        assert said in shown.err
        assert name in shown.err
    assert {path.name: path.read_bytes() for path in logs.iterdir()} == {name: damage}


@pytest.mark.parametrize("change", ["x", "", "longer"])
def test_a_history_that_was_changed_is_reported_and_left_alone(
    program: Program, history: History, logs: Path, change: str
) -> None:
    history.lines = LINES[:1]
    export(program, logs)
    damaged = {"x": LINES[0].replace("rest", "cli!"), "": "", "longer": LINES[0] * 2}[change]
    (logs / "events.jsonl").write_text(damaged, encoding="utf-8")
    history.lines = LINES
    shown = export(program, logs)
    assert (shown.code, content(logs)) == (6, damaged)
    (logs / "events.jsonl").unlink()
    assert export(program, logs).code == 6
    assert not (logs / "events.jsonl").exists()


def test_another_agents_folder_is_left_alone(
    program: Program, server: Server, history: History, logs: Path
) -> None:
    history.lines = LINES[:1]
    export(program, logs)
    server.on("GET /agents", page(ADA, SAKURA))
    assert export(program, logs, "さくら").code == 6
    assert content(logs) == LINES[0]
    assert export(program, logs).code == 5, "there are two agents now"


@pytest.mark.parametrize("written", range(0, len(LINES[1].encode()) + 1, 20))
def test_an_export_that_was_cut_off_is_completed_by_the_next_one(
    tmp_path: Path, written: int
) -> None:
    ledger = HistoryFile.open(tmp_path, "ada-id")
    assert ledger.add(LINES[0], "1") == 1
    ledger._note(pending=LINES[1], following="2")
    with ledger.path.open("ab") as file:
        file.write(LINES[1].encode()[:written])
    again = HistoryFile.open(tmp_path, "ada-id")
    assert (content(tmp_path), again.place) == ("".join(LINES[:2]), "2")
    assert HistoryFile.open(tmp_path, "ada-id").add(LINES[2], "3") == 1
    assert content(tmp_path) == "".join(LINES)
    with pytest.raises(DamagedExport):
        HistoryFile.open(tmp_path, "sakura-id")


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_folder_that_cannot_be_written_is_told_of(
    program: Program, tmp_path: Path, language: str
) -> None:
    (tmp_path / "file").write_text("x")
    shown = export(program, tmp_path / "file" / "logs", "--language", language)
    assert shown.code == 2
    assert str(tmp_path / "file") in shown.err


def test_what_is_no_history_is_not_written(program: Program, server: Server, logs: Path) -> None:
    server.on("GET /agents/ada-id/events", ok({"items": []}))
    assert export(program, logs).code == 3
    assert not (logs / "events.jsonl").exists()
