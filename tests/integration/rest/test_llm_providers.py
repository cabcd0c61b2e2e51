"""Providers over REST: shown, set up and asked how they are; a key goes in and never comes out."""

import logging
import traceback
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.local_files.secrets import FileSecrets
from opencrab.domain.errors import Unavailable
from tests.integration.rest.house import House, problem

CANARY = "sk-KANARI-7f3a9c2e"
PLACE = "/llm/providers/openai"


def test_providers_are_listed_with_what_they_lack_and_without_keys(house: House) -> None:
    listed = house.got("/llm/providers")["items"]
    assert [one["name"] for one in listed] == ["ollama", "openai", "scripted"]
    assert listed[1] == {
        "name": "openai",
        "kind": "openai",
        "base_url": "https://api.openai.com/v1",
        "enabled": True,
        "private": False,
        "has_key": False,
        "missing": "OPENAI_API_KEY",
        "default_model": "dear",
        "ready": False,
        "problem": "",
        "cure": "",
        "added": False,
    }


def test_only_a_provider_that_answered_is_ready(house: House) -> None:
    ready = {one["name"]: one["ready"] for one in house.got("/llm/providers")["items"]}
    assert ready == {"ollama": True, "openai": False, "scripted": True}
    changed = house.call("PUT", PLACE, {"key": CANARY}).json()
    assert (changed["missing"], changed["ready"], changed["cure"]) == ("", False, "set it")
    assert "鍵" in changed["problem"]


def test_providers_come_in_pages(house: House) -> None:
    page = house.got("/llm/providers?limit=2")
    rest = house.got(f"/llm/providers?limit=2&cursor={page['next_cursor']}")
    assert [one["name"] for one in page["items"] + rest["items"]] == [
        *("ollama", "openai", "scripted")
    ]
    assert rest["next_cursor"] is None


def test_a_change_leaves_what_it_does_not_name_and_null_returns_it(house: House) -> None:
    body: dict[str, Any] = {"enabled": False, "base_url": "https://例え.jp/v1", "private": True}
    changed = house.call("PUT", PLACE, body)
    assert changed.headers["etag"] == '"1"'
    assert {name: changed.json()[name] for name in body} == body
    house.call("PUT", PLACE, {"private": False})
    assert house.got("/llm/providers")["items"][1]["enabled"] is False
    back = house.call("PUT", PLACE, {"enabled": None, "base_url": None}).json()
    assert (back["enabled"], back["base_url"]) == (True, "https://api.openai.com/v1")


def test_a_new_key_counts_from_the_next_model_call_on(house: House) -> None:
    before = house.runtime.home.preferences.get().version
    changed = house.call("PUT", PLACE, {"key": CANARY}).json()
    assert (changed["has_key"], changed["missing"]) == (True, "")
    assert house.thinking.vault.kept == {"OPENAI_API_KEY": CANARY}
    assert house.runtime.home.preferences.get().version > before
    assert house.call("PUT", PLACE, {"key": None}).json()["has_key"] is True


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"key": ""}, "key"),
        ({"key": f"{CANARY}\n"}, "key"),
        ({"key": f" {CANARY}"}, "key"),
        ({"key": f"{CANARY}鍵"}, "key"),
        ({"key": CANARY * 500}, "key"),
        ({"key": [CANARY]}, "key"),
        ({"key": {"a": CANARY}}, "key"),
        ({"key": CANARY, "base_url": "http://169.254.169.254/latest"}, "base_url"),
        ({"key": CANARY, "enabled": 1}, "enabled"),
        ({"key": CANARY, "private": "yes"}, "private"),
        ({"base_url": f"{CANARY}\0"}, "base_url"),
        ({"key": CANARY, "has_key": True}, "has_key"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_and_nothing_is_kept(
    house: House, body: Any, field: str
) -> None:
    answer = house.call("PUT", PLACE, body)
    problem(answer, 422, field)
    assert CANARY not in answer.text
    assert house.thinking.vault.kept == {}
    assert house.runtime.home.preferences.get().version == 0


def test_a_provider_without_a_key_takes_none(house: House) -> None:
    problem(house.call("PUT", "/llm/providers/ollama", {"key": CANARY}), 422, "key")


@pytest.mark.parametrize("path", ["", "/health"])
def test_an_unknown_provider_is_not_found(house: House, path: str) -> None:
    method, body = ("GET", None) if path else ("PUT", {"enabled": True})
    problem(house.call(method, f"/llm/providers/nobody{path}", body), 404, "name")
    problem(house.raw(method, f"/llm/providers/N%20o{path}", b"{}", headers=JSON), 422, "name")


JSON = {"Content-Type": "application/json"}


def test_a_change_of_an_older_version_is_a_conflict_and_keeps_no_key(house: House) -> None:
    house.call("PUT", PLACE, {"private": True})
    for version in ('"0"', "nonsense", '"99999999999999999999"', 'W/"1"'):
        stale = {"If-Match": version}
        problem(house.call("PUT", PLACE, {"key": CANARY}, headers=stale), 409, "If-Match")
    assert house.thinking.vault.kept == {}
    assert house.runtime.home.preferences.get().version == 1
    fresh = house.call("PUT", PLACE, {"key": CANARY}, headers={"If-Match": '"1"'})
    assert fresh.status_code == 200


@pytest.mark.parametrize(
    ("name", "ok", "said"), [("ollama", True, ["llama", "かに"]), ("openai", False, None)]
)
def test_health_asks_the_provider_itself_for_five_seconds(
    house: House,
    name: str,
    ok: bool,  # noqa: FBT001
    said: list[str] | None,
) -> None:
    found = house.got(f"/llm/providers/{name}/health")
    assert (found["ok"], found["models"]) == (ok, said)
    assert house.thinking.asked == [(name, 5.0)]


class Broken:
    """`ports.secrets.Secrets` that cannot be written."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def get(self, name: str) -> str | None:
        return None

    def put(self, name: str, value: str) -> None:
        raise self._error

    def forget(self) -> None:
        pass


@pytest.mark.parametrize(
    ("error", "status"),
    [(Unavailable("the store is away", cure="wait"), 503), (RuntimeError("a mistake"), 500)],
)
def test_a_key_is_nowhere_but_where_secrets_are_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, error: Exception, status: int
) -> None:
    caplog.set_level(logging.DEBUG)
    house = House(tmp_path / "data")
    answers = []
    for secrets in (Broken(error), FileSecrets(tmp_path / "secrets")):
        house.furnish(secrets=secrets)
        for body in ({"key": CANARY}, {"key": [CANARY]}, {"key": CANARY, "enabled": "no"}):
            answers += [house.call("PUT", PLACE, body), house.call("GET", "/llm/providers")]
    answers += [house.call("GET", path) for path in ("/setup", "/keys", f"{PLACE}/health")]
    house.close()
    assert [answer.status_code for answer in answers[:2]] == [status, 200]
    assert answers[6].status_code == 200
    for answer in answers:
        assert CANARY not in answer.text + str(answer.headers)
    for record in caplog.records:
        shown = "".join(traceback.format_exception(*record.exc_info)) if record.exc_info else ""
        assert CANARY not in record.getMessage() + shown + repr(record.args)
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    holding = [path for path in kept if CANARY.encode() in path.read_bytes()]
    assert holding == [tmp_path / "secrets" / "secrets.json"]
    assert holding[0].stat().st_mode & 0o777 == 0o600
