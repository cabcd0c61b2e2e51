"""Providers of a server that OPENCRAB_URL names, changed over its REST API and in no file."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.unit.gateways.cli.configuration.home import Home

URL = "https://abc.execute-api.eu-west-1.amazonaws.com"


class Remote:
    """A server, and what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.answers: dict[str, tuple[int, Any]] = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else None
        self.asked.append((request.method, request.url.path, body))
        status, answer = self.answers.get(request.method, (200, {"name": "groq"}))
        kind = "application/json" if status < 400 else "application/problem+json"
        return httpx.Response(status, json=answer, headers={"content-type": kind})


@pytest.fixture
def remote() -> Remote:
    return Remote()


@pytest.fixture
def home(tmp_path: Path, remote: Remote) -> Home:
    return Home(tmp_path, before=("models", "providers"), transport=httpx.MockTransport(remote))


def run(home: Home, *args: str, **more: str) -> Home:
    return home.run(*args, OPENCRAB_URL=URL, OPENCRAB_KEY="oc_owner", **more)


def test_a_provider_is_added_there_with_its_key(home: Home, remote: Remote) -> None:
    added = run(
        home, "add", "groq", "--base-url", "https://g.test/v1", "--key", typed="gsk-KANARI\n"
    )
    assert added.code == 0, added.err
    assert "KANARI" not in added.out + added.err
    assert remote.asked == [
        (
            "PUT",
            "/api/llm/providers/groq",
            {"kind": "openai", "base_url": "https://g.test/v1", "key": "gsk-KANARI"},
        )
    ]
    assert f"test groq --url {URL}`; it counts from the next model call on" in added.out + added.err
    assert not home.file.exists()
    assert run(home, "add", "groq").code == 2


def test_it_is_changed_enabled_and_removed_there(home: Home, remote: Remote) -> None:
    assert run(home, "set", "groq", "--model", "kimi", "--enable").code == 0
    assert run(home, "remove", "groq").code == 0
    assert remote.asked == [
        ("PUT", "/api/llm/providers/groq", {"default_model": "kimi", "enabled": True}),
        ("DELETE", "/api/llm/providers/groq", None),
    ]


def test_one_of_the_settings_is_disabled_instead(home: Home, remote: Remote) -> None:
    remote.answers["DELETE"] = (422, {"detail": "of the settings", "code": "invalid"})
    assert run(home, "remove", "openai", "--json").json == {"name": "openai", "removed": False}
    assert remote.asked[-1] == ("PUT", "/api/llm/providers/openai", {"enabled": False})


@pytest.mark.parametrize(("is_ok", "code"), [(True, 0), (False, 3)])
def test_the_server_asks_the_provider(
    home: Home, remote: Remote, *, is_ok: bool, code: int
) -> None:
    health = {"ok": is_ok, "latency_ms": 12, "problem": "no answer", "cure": "wait", "models": []}
    remote.answers["GET"] = (200, health)
    assert run(home, "test", "groq").code == code
    assert is_ok or "no answer" in home.err
    assert remote.asked == [("GET", "/api/llm/providers/groq/health", None)]
