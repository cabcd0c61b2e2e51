"""A provider that moves: no old key goes to its new address, and no new one to its old, ever."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.local_files.secrets import FileSecrets
from opencrab.adapters.providers.catalogue.configuration import (
    ModelsSettings,
    provider_catalogue_settings,
)
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.adapters.providers.transport.exchange import OpenReply, Reply
from opencrab.domain.errors import Conflict, OpenCrabError, Unavailable
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.models.preferences import Preferences
from opencrab.engine.models.preferences import ATTEMPTS
from opencrab.ports.models.preferences import StoredPreferences
from tests.integration.rest.house import House, problem

HOSTS = {"sk-old": "old.example", "sk-new": "new.example", "sk-newer": "new.example"}
OLD, NEW = "https://old.example/v1", "https://new.example/v1"
PLACE = "/llm/providers/openai"


class Witness:
    """`adapters.providers.transport.Transport` that sees to which host which key goes."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def send(self, url: str, *, headers: Any = None, **_sent: Any) -> Reply:
        self.seen.append((url.split("/")[2], str((headers or {}).get("authorization", ""))))
        raise ModelCallFailed(f"nobody is at {url}", Fault.UNREACHABLE)

    def open(self, url: str, *, headers: Any, **_sent: Any) -> AbstractContextManager[OpenReply]:
        self.send(url, headers=headers)
        raise AssertionError


class Street:
    """A house whose stores fail when they are told to, and a worker that looks at every step."""

    def __init__(self, folder: Path, key: str) -> None:
        self.house = House(folder / "data")
        self.secrets = FileSecrets(folder / "secrets")
        self.key = key
        self.witness = Witness()
        self.kept = self.house.runtime.home.preferences
        self.failures: list[OpenCrabError | None] = []
        self.late = False
        models = self.worker()
        home = replace(self.house.runtime.home, preferences=self)
        self.house.furnish(models=models, directory=models, secrets=self, home=home)

    def worker(self) -> ProviderModels:
        """What another process makes of what is kept now."""

        def configured() -> ModelsSettings:
            table = {"base_url": OLD, "api_key": self.key, "default_model": "m"}
            llm = {"default_provider": "openai", "providers": {"openai": table, "scripted": {}}}
            return provider_catalogue_settings(llm, {}, stored_key=self.secrets.get)

        return ProviderModels(configured, lambda: self.witness, stored=self.kept.get)

    def look(self) -> None:
        """Ask the provider as a worker would, and see that no key goes to a wrong host."""
        self.worker().health("openai", timeout_seconds=1)
        for host, header in self.witness.seen:
            key = header.removeprefix("Bearer ")
            assert not key or HOSTS[key] == host

    def sends(self) -> tuple[str, str]:
        """The host and the key of the next request."""
        self.witness.seen.clear()
        self.look()
        return self.witness.seen[-1] if self.witness.seen else ("", "")

    def get(self, name: str | None = None) -> Any:
        return self.kept.get() if name is None else self.secrets.get(name)

    def save(self, preferences: Preferences, version: int) -> StoredPreferences:
        self._fail()
        saved = self.kept.save(preferences, version)
        self.look()
        return saved

    def put(self, name: str, value: str) -> None:
        if self.late:
            self.secrets.put(name, value)
        self._fail()
        self.secrets.put(name, value)
        self.look()

    def forget(self) -> None:
        self.secrets.forget()

    def _fail(self) -> None:
        failure = self.failures.pop(0) if self.failures else None
        self.look()
        if failure is not None:
            raise failure


@pytest.fixture(params=[False, True], ids=["in time", "kept after all"])
def street(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Street]:
    """A street whose store of secrets may keep what it says that it did not."""
    street = Street(tmp_path, "sk-old")
    street.late = request.param
    yield street
    street.house.close()


def test_an_address_alone_does_not_take_the_key_along(street: Street) -> None:
    refused = street.house.call("PUT", PLACE, {"base_url": NEW})
    assert "key" in str(problem(refused, 422, "key")["cure"])
    assert street.sends() == ("old.example", "Bearer sk-old")
    assert street.kept.get().version == 0


def test_a_provider_moves_with_its_new_key_and_back_with_its_old(street: Street) -> None:
    moved = street.house.call("PUT", PLACE, {"base_url": NEW, "key": "sk-new"})
    assert (moved.status_code, moved.json()["has_key"], moved.json()["missing"]) == (200, True, "")
    assert street.sends() == ("new.example", "Bearer sk-new")
    assert street.house.call("PUT", PLACE, {"key": "sk-newer"}).status_code == 200
    assert street.sends() == ("new.example", "Bearer sk-newer")
    assert street.house.call("PUT", PLACE, {"base_url": f"{NEW}/more"}).status_code == 200
    problem(street.house.call("PUT", PLACE, {"base_url": None}), 422, "key")
    back = street.house.call("PUT", PLACE, {"base_url": None, "key": "sk-old"})
    assert back.json()["missing"] == ""
    assert street.sends() == ("old.example", "Bearer sk-old")


def test_an_address_that_takes_no_key_gets_none(street: Street) -> None:
    moved = street.house.call("PUT", PLACE, {"base_url": NEW, "key": ""})
    assert (moved.status_code, moved.json()["has_key"]) == (200, False)
    assert street.sends() == ("new.example", "")
    assert street.house.call("PUT", PLACE, {"base_url": None}).status_code == 200
    assert street.sends() == ("old.example", "Bearer sk-old")


BUSY, AWAY = Conflict("somebody was faster"), Unavailable("the store is away", cure="wait")


@pytest.mark.parametrize(
    ("failures", "status"),
    [
        ([BUSY] * ATTEMPTS, 409),
        ([AWAY], 503),
        ([None, AWAY], 503),
        ([None, AWAY, AWAY], 503),
        ([None, None, *[BUSY] * ATTEMPTS], 200),
        ([None, None, AWAY], 503),
        ([BUSY, None, None, BUSY], 200),
    ],
)
@pytest.mark.parametrize("first", [None, {"base_url": NEW, "key": "sk-new"}])
@pytest.mark.parametrize(
    "body", [{"base_url": NEW, "key": "sk-newer"}, {"base_url": None, "key": "sk-old"}]
)
def test_whichever_step_fails_no_key_goes_astray(
    street: Street,
    first: dict[str, str] | None,
    body: dict[str, Any],
    failures: list[OpenCrabError | None],
    status: int,
) -> None:
    if first is not None:
        street.house.call("PUT", PLACE, first)
    street.failures = list(failures)
    assert street.house.call("PUT", PLACE, body).status_code == status
    street.look()
    street.failures = []
    again = street.house.call("PUT", PLACE, body)
    assert (again.status_code, again.json()["missing"]) == (200, "")
    host = "old.example" if body["base_url"] is None else "new.example"
    assert street.sends() == (host, f"Bearer {body['key']}")


def test_a_key_that_another_owner_kept_in_between_is_held_back(street: Street) -> None:
    put = street.put

    def rushed(name: str, value: str) -> None:
        put(name, value)
        street.secrets.put(name, "sk-old")

    street.put = rushed  # type: ignore[method-assign]
    moved = street.house.call("PUT", PLACE, {"base_url": NEW, "key": "sk-new"})
    assert moved.json()["has_key"] is False
    assert "store it again" in moved.json()["missing"]
    assert street.sends() == ("", "")
