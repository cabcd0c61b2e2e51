"""A knowledge worker's day: instructions in Japanese that a running OpenCrab plans and reports."""

import http.client
import re
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.running import KEY, OPENCRAB, Server, server

SCRIPTS = Path(__file__).parent / "scripts"
MAP = "機械学習に関するノートを整理して、学習マップを作成して"
REVIEW = "今日作成したノートをまとめて、明日のタスクも抽出して"
TITLE = "機械学習_学習マップ"
NOTES = {
    "機械学習入門": "機械学習とは、データから学ぶこと。",
    "勾配降下法": "機械学習の最適化の基本。",
    "ニューラルネット": "機械学習のモデルの一つ。",
}
TODAY = {"朝会": "明日: 公開の準備 TODO", "設計メモ": "構成を決めた。"}


def put(running: Server, agent_id: str, path: str, text: str) -> None:
    """A file that the owner puts into the agent's workspace."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    headers = {"authorization": f"Bearer {KEY}", "content-type": "text/markdown"}
    place = f"/api/agents/{agent_id}/workspace/{quote(path)}"
    connection.request("PUT", place, text.encode(), headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    assert answer.status < 300


def read(running: Server, agent_id: str, path: str) -> str:
    """What is in a file of the workspace."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    place = f"/api/agents/{agent_id}/workspace/{quote(path)}"
    connection.request("GET", place, headers={"authorization": f"Bearer {KEY}"})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    assert answer.status == 200, body
    return body


def worker(running: Server, notes: dict[str, str]) -> str:
    """An agent with notes in its vault."""
    agent: dict[str, Any] = running.call("POST", "/agents", {"name": "蟹", "language": "ja"})
    for title, text in notes.items():
        put(running, agent["id"], f"vault/{title}.md", f"# {title}\n\n{text}\n")
    return str(agent["id"])


def over(running: Server, agent_id: str, task_id: str) -> dict[str, Any]:
    """The task once it is over."""
    until, shown = time.monotonic() + 90, dict[str, Any]()
    while shown.get("status") not in {"completed", "abandoned", "paused"}:
        if time.monotonic() > until:
            pytest.fail(f"{task_id} did not end: {shown}")
        time.sleep(0.05)
        shown = running.call("GET", f"/agents/{agent_id}/tasks/{task_id}")
    return shown


def test_notes_on_machine_learning_become_a_study_map(tmp_path: Path) -> None:
    with server(tmp_path, script=SCRIPTS / "study_map.toml") as running:
        agent_id = worker(running, NOTES)
        given = running.call("POST", f"/agents/{agent_id}/tasks", {"instruction": MAP}, key="k-map")
        again = running.call("POST", f"/agents/{agent_id}/tasks", {"instruction": MAP}, key="k-map")
        assert given["id"] == again["id"] == "G1"
        task = over(running, agent_id, given["id"])
        note = read(running, agent_id, f"vault/{TITLE}.md")
    assert (task["status"], task["completion"], task["unconfirmed"]) == ("completed", 100, [])
    assert [each["status"] for each in task["tasks"]] == ["done"] * 5
    assert all(each["confirmed"] for each in task["tasks"])
    assert f"結果: vault/{TITLE}.md" in task["report"]
    assert all(f"[[{title}]]" in note for title in NOTES)
    assert "勾配降下法: 途中" in note


def test_todays_notes_become_a_review_and_tomorrows_tasks(tmp_path: Path) -> None:
    """The same over the terminal; what failed and what nobody did is told as it is."""
    with server(tmp_path, script=SCRIPTS / "daily_review.toml") as running:
        agent_id = worker(running, TODAY)
        ran = subprocess.run(
            [str(OPENCRAB), "task", "run", agent_id, REVIEW, "--language", "ja"],
            env={
                "PATH": "/usr/bin:/bin",
                "LANG": "C.UTF-8",
                "HOME": str(tmp_path),
                "OPENCRAB_URL": f"http://127.0.0.1:{running.port}",
                "OPENCRAB_KEY": KEY,
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        task = running.call("GET", f"/agents/{agent_id}/tasks/G1")
        listed = running.call("GET", f"/agents/{agent_id}/workspace?prefix=vault")
    review = next(item["path"] for item in listed["items"] if "日次レビュー" in item["path"])
    assert ran.returncode == 0, ran.stderr
    assert "明日のタスク1件を抽出しました。" in ran.stdout
    assert "[G1-T5] FAIL 明日のタスクを探す / 設計メモにタスクがない" in ran.stdout
    assert re.search(r"\[G1\] .* / 83%", ran.stdout)
    assert (task["status"], task["completion"]) == ("completed", 83)
    assert "vault/ない.md" in task["unconfirmed"]
    assert review in task["report"]
