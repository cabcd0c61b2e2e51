"""Home: all stores and queues that one installation runs on."""

from dataclasses import dataclass

from opencrab.ports.agents import Agents
from opencrab.ports.blobs import Blobs
from opencrab.ports.budgets import Budgets
from opencrab.ports.due import DueItems
from opencrab.ports.eraser import Eraser
from opencrab.ports.facts import Facts
from opencrab.ports.feed import ChangeFeed
from opencrab.ports.files import Files
from opencrab.ports.health import ProviderHealths
from opencrab.ports.idempotency import Idempotency
from opencrab.ports.journal import Journal
from opencrab.ports.keys import Keys
from opencrab.ports.outbox import Outbox
from opencrab.ports.preferences import PreferenceStore
from opencrab.ports.queue import Queue
from opencrab.ports.sessions import Sessions
from opencrab.ports.switches import Switches
from opencrab.ports.tallies import Tallies
from opencrab.ports.usage import UsageLedger


@dataclass(frozen=True)
class Home:
    """One value with every port that keeps something; SQLite and AWS each build one.

    `interactions` is where what Discord brings waits for a worker; None where it is switched off.
    `beats` holds heartbeats until their second, `nights` the agents whose evidence is to be looked
    at, both in no order.
    `feed` is None where changes are pushed to functions of their own, and nobody here can follow.
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
    facts: Facts
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
