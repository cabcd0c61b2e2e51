"""Home: all stores and queues that one installation runs on."""

from dataclasses import dataclass, field
from typing import Protocol

from opencrab.domain.errors import OpenCrabError
from opencrab.ports.access.idempotency import Idempotency
from opencrab.ports.access.keys import Keys
from opencrab.ports.agents import Agents
from opencrab.ports.conversation.feed import ChangeFeed
from opencrab.ports.conversation.outbox import Outbox
from opencrab.ports.conversation.sessions import Sessions
from opencrab.ports.documents import Documents
from opencrab.ports.erasure import Eraser
from opencrab.ports.models.health import ProviderHealths
from opencrab.ports.models.preferences import PreferenceStore
from opencrab.ports.money.budgets import Budgets
from opencrab.ports.money.switches import Switches
from opencrab.ports.turn.blobs import Blobs
from opencrab.ports.turn.due_items import DueItems
from opencrab.ports.turn.journal import Journal
from opencrab.ports.turn.queue import Queue
from opencrab.ports.usage.counters import Tallies
from opencrab.ports.usage.ledger import UsageLedger
from opencrab.ports.workspace.attached_folders import AttachedFolders
from opencrab.ports.workspace.files import Files


class Storage(Protocol):
    """The disk on which a home lies."""

    def fault(self) -> OpenCrabError | None:
        """Return the error of the last write if the disk was full or broken, else None."""


class ManagedStorage:
    """Storage that others look after, as on AWS: it is never full."""

    def fault(self) -> OpenCrabError | None:
        """Return None."""
        return None


@dataclass(frozen=True)
class Home:
    """All stores and queues of an installation; SQLite and AWS each build one.

    `interactions` is the queue of Discord interactions for a worker; None if Discord is switched
    off. `beats` holds heartbeats until their second, `nights` the agents to review at night, both
    unordered. `feed` is None if changes are pushed to separate functions and cannot be followed
    here. While `storage` has a fault, turns wait. `folders` are those that owners have attached;
    None if the files are on no computer of theirs.
    """

    agents: Agents
    sessions: Sessions
    journal: Journal
    turns: Queue
    deliveries: Queue
    compactions: Queue
    interactions: Queue | None
    beats: Queue
    nights: Queue
    outbox: Outbox
    due: DueItems
    facts: Documents
    files: Files
    blobs: Blobs
    keys: Keys
    idempotency: Idempotency
    switches: Switches
    budgets: Budgets
    usage: UsageLedger
    tallies: Tallies
    health: ProviderHealths
    preferences: PreferenceStore
    eraser: Eraser
    feed: ChangeFeed | None
    storage: Storage = field(default_factory=ManagedStorage)
    folders: AttachedFolders | None = None
