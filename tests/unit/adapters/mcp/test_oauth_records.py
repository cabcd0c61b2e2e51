"""Stored sign-ins: sealed for one server, by a key that other processes find, too."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.adapters.mcp.oauth_records import SIGN_IN_KEY, StoredSignIns
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.errors import Unavailable
from opencrab.domain.mcp.sign_in import SIGN_IN_KIND, McpSignInState
from opencrab.ports.mcp import McpSignInNeeded
from tests.contract.homes import sqlite
from tests.unit.adapters.mcp.oauth import NOW, Lab, Vault


class CachedVault(Vault):
    """The secrets of another process, which reads them once until it is told to forget them."""

    def __init__(self, source: Vault) -> None:
        super().__init__()
        self._source = source

    def put(self, name: str, value: str) -> None:
        self._source.put(name, value)

    def forget(self) -> None:
        self.values = dict(self._source.values)


class LosingVault(Vault):
    """Secrets that are not there after they were stored."""

    def put(self, name: str, value: str) -> None:
        pass


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as home:
        yield Lab(home, clock)


def test_a_worker_that_runs_already_finds_the_new_key(lab: Lab) -> None:
    worker = lab.connections(lab.another(StoredSignIns(lab.facts, CachedVault(lab.vault))))
    with pytest.raises(McpSignInNeeded):
        lab.call(worker)
    lab.sign_in()
    assert lab.call(worker) == "42"


def test_a_worker_that_knows_an_older_key_finds_the_newer(lab: Lab) -> None:
    """Its mistake would be the owner's: the new sign-in would count as one that is refused."""
    lab.sign_in()
    worker = lab.connections(lab.another(StoredSignIns(lab.facts, CachedVault(lab.vault))))
    assert lab.call(worker) == "42"
    lab.vault.values.clear()
    lab.sign_in()
    lab.clock.advance(61)
    assert lab.call(worker) == "42"
    assert lab.sign_ins.records([lab.server])["tracker"].state is McpSignInState.SIGNED_IN


def test_a_key_is_made_once_and_kept(lab: Lab) -> None:
    lab.sign_in()
    key = lab.vault.values[SIGN_IN_KEY]
    lab.sign_in()
    assert (lab.vault.values[SIGN_IN_KEY], len(key)) == (key, 64)


def test_a_store_that_keeps_nothing_is_told_before_anybody_agrees(lab: Lab) -> None:
    with pytest.raises(Unavailable, match="MCP_SIGN_IN_KEY is not readable yet"):
        StoredSignIns(lab.facts, LosingVault()).seal(lab.server, lab.server)


@pytest.mark.parametrize("change", ["of another server", "cut", "flipped", "no base64"])
def test_tokens_that_were_tampered_with_open_nothing(lab: Lab, change: str) -> None:
    lab.sign_in()
    stored = lab.facts.get(INSTALLATION_FACTS, SIGN_IN_KIND, "tracker")
    assert stored is not None
    assert stored.body is not None
    server, sealed = lab.server, stored.body["sealed"]
    if change == "of another server":
        server = server.replaced(name="other")
    texts = {"cut": sealed[:20], "flipped": f"{sealed[:-8]}AAAAAAA=", "no base64": "蟹\x00"}
    body = {**stored.body, "sealed": texts.get(change, sealed)}
    fact = stored.replaced(id=server.name, version=0, body=body)
    lab.facts.commit(fact)
    with pytest.raises(McpSignInNeeded):
        lab.client.tools(server)
    assert not any(token for _, _, token in lab.servers.asked)
