"""The composition of the demo world: its own store, its key, and the protocol, nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from opencrab.adapters.demo_world.socket import DemoSocket
from opencrab.adapters.demo_world.store import DemoStore
from opencrab.adapters.system_clock import SystemClock
from opencrab.adapters.world_envelope import Ed25519Envelopes
from opencrab.domain.world.demo.state import DemoState
from opencrab.gateways.world.demo import DemoWorld
from opencrab.ports.world import KeyPair

WORLD_ID = "demo"


def open_local_demo_world(folder: Path, seed: int) -> "LocalDemoWorld":
    """Open the demo world of a folder; a new one gets a key and begins from the seed."""
    store, envelopes = DemoStore(folder), Ed25519Envelopes()
    kept = store.identity()
    if kept is None:
        made = envelopes.new_key()
        store.keep_identity(made.private_key, made.public_key)
        kept = (made.private_key, made.public_key)
    private, public = kept
    state = store.state() or DemoState(world_id=WORLD_ID, seed=seed)
    key = KeyPair(private, public, envelopes.key_id(public))
    return LocalDemoWorld(store, envelopes, key, state)


class LocalDemoWorld:
    """The demo world in this process."""

    def __init__(
        self, store: DemoStore, envelopes: Ed25519Envelopes, key: KeyPair, state: DemoState
    ) -> None:
        self._store, self._envelopes, self._key, self._state = store, envelopes, key, state

    @property
    def world_id(self) -> str:
        """The world's id."""
        return self._state.world_id

    @property
    def public_key(self) -> str:
        """The key by which agents are bound to it."""
        return self._key.public_key

    def run(
        self,
        url: str,
        tell: Callable[[str, dict[str, Any]], None],
        *,
        hour_seconds: float,
        hours: int | None,
    ) -> None:
        """Live with the installation at an address until it is interrupted, or the hours end."""
        world = DemoWorld(
            self._store,
            self._envelopes,
            self._key,
            self._state,
            SystemClock(),
            hour_seconds,
            tell,
        )
        try:
            world.run(lambda: DemoSocket(url), hours)
        finally:
            self._state = world.state

    def accounts(self) -> list[dict[str, Any]]:
        """Return the accounts of all citizens, and of the treasury, in the order of arrival."""
        rows = [
            {
                "key_id": each.key_id,
                "role": each.role.value,
                "balance": each.balance,
                "entries": each.entry,
                "reputation": each.reputation,
                "parts": each.parts,
            }
            for each in self._state.citizens.values()
        ]
        aside = sum(each.reward for each in self._state.bounties.values())
        return [*rows, {"treasury": self._state.treasury, "bounties": aside}]
