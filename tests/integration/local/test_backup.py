"""A backup of `opencrab up` under load, restored elsewhere: nothing lost or answered twice."""

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.sqlite.home import FILE
from tests.bench.world import model_server
from tests.integration.local.examining import answered_once, home_at
from tests.integration.local.killing import PEOPLE, Installation
from tests.integration.local.vendor import KEY
from tests.running import OPENCRAB, Server, opencrab, server

BACKUPS = 3
MOST_MESSAGES = 24
"""Of each person: with their answers no more than the 50 that a search shows."""

QUERIES = ("牛乳", "milk", "買い物メモ", "shopping list", "メモしました", "R0-1", "卵")

Acknowledged = dict[str, str]
"""The turns of messages by their keys."""


def found_by_search(running: Server, agents: list[str], query: str) -> dict[str, list[Any]]:
    """What each agent's memory search finds."""
    question = {"query": query, "limit": 50}
    hits = {
        agent: running.call("POST", f"/agents/{agent}/memory/search", question)["items"]
        for agent in agents
    }
    return {agent: sorted(hit["text"] for hit in found) for agent, found in hits.items()}


def agents_of(running: Server) -> list[str]:
    return sorted(each["id"] for each in running.call("GET", "/agents?limit=100")["items"])


def searched(up: Installation, running: Server, turns: Acknowledged) -> dict[str, set[str]]:
    """What the memory search of each agent finds of these messages and their answers."""
    found = dict[str, set[str]]()
    for query in QUERIES:
        for agent_id, texts in found_by_search(running, up.agents, query).items():
            wanted = {text for text in texts if set(KEY.findall(text)) & turns.keys()}
            found[f"{query} {agent_id}"] = wanted
    return found


@pytest.mark.timeout(1_800)
def test_a_backup_under_load_holds_what_was_acknowledged_answers_it_once_and_finds_it(
    tmp_path: Path,
) -> None:
    up = Installation(tmp_path / "data", seed=5, places=())
    before = list[list[Acknowledged]]()
    with up.outside():
        with up.life() as running:
            for person in up.people:
                person.most = MOST_MESSAGES
            with up.everybody_talks(running):
                for number in range(BACKUPS):
                    have_spoken(up, 2 * (number + 1))
                    before.append([dict(person.acknowledged) for person in up.people])
                    opencrab("backup", tmp_path / f"b{number}", "--data", up.data)
                    opencrab("verify", up.data)
            up.await_rest()
            expected = [searched(up, running, together(turns)) for turns in before]
            running.process.kill()
        for number, acknowledged in enumerate(before):
            opencrab("verify", tmp_path / f"b{number}")
            up.data = tmp_path / f"new{number}"
            opencrab("restore", tmp_path / f"b{number}", "--data", up.data)
            with up.life() as running:
                up.await_rest()
                assert searched(up, running, together(acknowledged)) == expected[number]
            with home_at(up.data) as home:
                for turns in acknowledged:
                    answered_once(home, turns)
            opencrab("verify", up.data)
    assert len(together(before[-1])) > len(together(before[0])) >= 2 * PEOPLE
    # Each message and each answer of the last one was found, in both languages.
    for word in ("牛乳", "milk"):
        texts = set[str]().union(*(expected[-1][f"{word} {agent_id}"] for agent_id in up.agents))
        assert {key for text in texts for key in KEY.findall(text)} == together(before[-1]).keys()


def have_spoken(up: Installation, messages: int) -> None:
    """Wait until each has so many messages acknowledged, however long that takes."""
    deadline = time.monotonic() + 600
    while any(len(person.acknowledged) < messages for person in up.people):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def together(turns: list[Acknowledged]) -> Acknowledged:
    """The messages of all people."""
    return {key: turn for each in turns for key, turn in each.items()}


@pytest.mark.timeout(300)
def test_search_is_equal_in_what_was_restored(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with model_server(0.01) as model_url:
        with server(data, model_url=model_url) as running:
            sessions = [running.session(name) for name in ("花", "Ken")]
            for session_id in sessions:
                for text in ("赤い蟹を見ました。", "A blue crab crossed the road."):
                    running.say(session_id, text)
            agents = agents_of(running)
            expected = [found_by_search(running, agents, text) for text in ("蟹", "crab")]
            opencrab("backup", tmp_path / "b", "--data", data, "--with-secrets")
        opencrab("restore", tmp_path / "b", "--data", tmp_path / "new")
        with server(tmp_path / "new", model_url=model_url) as running:
            assert agents_of(running) == agents
            found = [found_by_search(running, agents, text) for text in ("蟹", "crab")]
    assert found == expected
    assert all(any(by_agent.values()) for by_agent in expected)


@pytest.mark.timeout(300)
def test_a_message_is_not_acknowledged_without_its_database_and_the_cure_works(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    with model_server(0.01) as model_url:
        with server(data, model_url=model_url) as running:
            session_id = running.session("花")
            (kept,) = running.say(session_id, "こんにちは")["turn_ids"]
            (data / FILE).unlink()
            with pytest.raises(AssertionError, match=r"removed or replaced.*rescued"):
                running.call("POST", f"/sessions/{session_id}/messages", {"text": "聞こえますか"})
        with pytest.raises(AssertionError):
            opencrab("verify", data)
        started = subprocess.run(
            [str(OPENCRAB), "up", "--data", str(data), "--provider", "scripted"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert started.returncode == 1
        assert f"rename '{FILE}.rescued'" in started.stderr
        assert "--accept" not in started.stderr
        assert not (data / FILE).exists()
        (data / f"{FILE}.rescued").rename(data / FILE)
        with server(data, model_url=model_url) as running:
            assert running.call("GET", f"/turns/{kept}")["status"] == "completed"
            assert running.say(session_id, "聞こえますか")["turn_ids"]


@pytest.mark.timeout(300)
def test_scheduled_backups_are_made_while_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCRAB_BACKUP__EVERY", "1d")
    monkeypatch.setenv("OPENCRAB_BACKUP__FOLDER", str(tmp_path / "毎日"))
    with server(tmp_path / "data") as running:
        session_id = running.session("花")
        assert running.say(session_id, "こんにちは")["turn_ids"]
        deadline = time.monotonic() + 30
        while not list((tmp_path / "毎日").glob("opencrab-*/manifest.json")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert running.call("GET", "/setup")["backups"] == {"ok": True}
    (made,) = (tmp_path / "毎日").glob("opencrab-*")
    assert (made / "data" / FILE).is_file()
    opencrab("verify", made)


@pytest.mark.timeout(300)
def test_a_scheduled_backup_that_fails_is_told_with_its_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "毎日").write_text("a file where the folder should be", encoding="utf-8")
    monkeypatch.setenv("OPENCRAB_BACKUP__EVERY", "1d")
    monkeypatch.setenv("OPENCRAB_BACKUP__FOLDER", str(tmp_path / "毎日"))
    with server(tmp_path / "data") as running:
        deadline = time.monotonic() + 30
        while (told := running.call("GET", "/setup")["backups"])["ok"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert told["failed_at"]
    assert told["problem"]
    assert told["cure"]
