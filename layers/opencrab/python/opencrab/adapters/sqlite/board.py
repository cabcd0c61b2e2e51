"""What a turn looks at before each model call, on SQLite: switches, limits, health, settings.

Also the budgets, whose limits lie here.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from opencrab.adapters.sqlite.database import Database, ItemRow, Place, WriteBatch
from opencrab.domain.conversation.message import Instruction
from opencrab.domain.errors import Conflict
from opencrab.domain.models.health import BreakerState
from opencrab.domain.models.preferences import Preferences
from opencrab.domain.money.budget import (
    INSTALLATION,
    BudgetDraw,
    budget_exhausted_error,
    budget_limit_changes,
)
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import MicroUsd
from opencrab.ports.models.preferences import StoredPreferences
from opencrab.ports.turn.journal import StepState

_BOARD, _LIMIT, _SETTINGS, _HEALTH = "BOARD", "LIMIT#", "SETTINGS", "HEALTH#"
_PREFERENCES, _DOCUMENT = "PREFERENCES", "P"
_SWITCH, _IS_FROZEN = "SWITCH#", "frozen"
_BOUNDARY = """
    SELECT pk, sk, body FROM item WHERE pk='BOARD' AND sk>='A' AND sk<'Z' UNION ALL
    SELECT pk, sk, body FROM item WHERE pk=? AND sk>=? AND sk<':' UNION ALL
    SELECT pk, sk, body FROM item WHERE pk IN (?,?) AND sk='S' ORDER BY pk, sk
"""
_FROZEN = "SELECT pk FROM item WHERE pk>=? AND pk<? AND sk='S' AND body='frozen' ORDER BY pk"


@dataclass
class Board:
    """The limits, settings version and provider health that apply to all turns."""

    limits: dict[str, MicroUsd] = field(default_factory=dict)
    settings_version: int = 0
    health: dict[str, BreakerState] = field(default_factory=dict)


class SqliteSwitches:
    """`ports.money.switches.Switches` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def set(self, scope: str, *, frozen: bool) -> None:
        with self._database.write_transaction() as items:
            items.put(f"{_SWITCH}{scope}", "S", _IS_FROZEN if frozen else "running")

    def is_frozen(self, scope: str) -> bool:
        with self._database.read_transaction() as items:
            return items.get(f"{_SWITCH}{scope}", "S") == _IS_FROZEN

    def all_frozen(self) -> tuple[str, ...]:
        with self._database.read_transaction() as items:
            rows = items.execute(_FROZEN, (_SWITCH, "SWITCH$")).fetchall()
        return tuple(sorted(pk.removeprefix(_SWITCH) for (pk,) in rows))


class SqliteBudgets:
    """`ports.money.budgets.Budgets` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def drawn_micro_usd(self, scope: str, day: str) -> MicroUsd:
        with self._database.read_transaction() as items:
            return int(items.get(f"BUDGET#{scope}", day) or 0)

    def return_unspent(self, now: datetime) -> int:  # noqa: ARG002 - turns draw from the budgets
        return 0

    def limits(self) -> dict[str, MicroUsd]:
        with self._database.read_transaction() as items:
            return _board(items.between(_BOARD, "A", "Z")).limits

    def change_limits(self, changes: Mapping[str, MicroUsd | None]) -> None:
        checked = budget_limit_changes(changes)
        with self._database.write_transaction() as items:
            for name, limit in checked.items():
                if limit is None:
                    items.delete(_BOARD, f"{_LIMIT}{name}")
                else:
                    items.put(_BOARD, f"{_LIMIT}{name}", str(limit))


class SqliteHealths:
    """`ports.models.health.ProviderHealths` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[str, BreakerState]:
        with self._database.read_transaction() as items:
            return _board(items.between(_BOARD, "A", "Z")).health

    def put(self, provider: str, health: BreakerState, before: BreakerState | None) -> bool:
        with self._database.write_transaction() as items:
            body = items.get(_BOARD, f"{_HEALTH}{provider}")
            if before != (None if body is None else BreakerState.from_stored(body)):
                return False
            items.put(_BOARD, f"{_HEALTH}{provider}", health.to_stored())
            return True

    def forget(self, provider: str) -> None:
        with self._database.write_transaction() as items:
            items.delete(_BOARD, f"{_HEALTH}{provider}")


class SqlitePreferences:
    """`ports.models.preferences.PreferenceStore` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self) -> StoredPreferences:
        with self._database.read_transaction() as items:
            body = items.get(_PREFERENCES, _DOCUMENT)
        if body is None:
            return StoredPreferences(Preferences())
        version, document = json.loads(body)
        return StoredPreferences(Preferences.read(document), version)

    def save(self, preferences: Preferences, version: int) -> StoredPreferences:
        saved = StoredPreferences(preferences, version + 1)
        body = f"[{saved.version},{preferences.document()}]"
        with self._database.write_transaction() as items:
            if version != int(items.get(_BOARD, _SETTINGS) or 0):
                raise Conflict(
                    f"the settings were changed concurrently: version {version} is not the newest",
                    cure="load them again and repeat the change",
                )
            items.put(_PREFERENCES, _DOCUMENT, body)
            items.put(_BOARD, _SETTINGS, str(saved.version))
        return saved


def read_sqlite_step_state(database: Database, turn: Turn) -> StepState:
    """Read what a turn needs before its next model call: freezes, instructions, limits, health."""
    inbox = f"INBOX#{turn.session_id}"
    scopes = (INSTALLATION, turn.agent_id)
    switches = [f"{_SWITCH}{scope}" for scope in scopes]
    with database.read_transaction() as items:
        # One statement sees one moment: a stop is never missed between two reads.
        rows = items.execute(
            _BOUNDARY, (inbox, f"{turn.trigger_line + 1:010d}", *switches)
        ).fetchall()
    board = _board((sk, body) for pk, sk, body in rows if pk == _BOARD)
    turned = {pk for pk, _sk, body in rows if pk in switches and body == _IS_FROZEN}
    told = (body for pk, _sk, body in rows if pk == inbox)
    return StepState(
        frozen=next((scope for scope in scopes if f"{_SWITCH}{scope}" in turned), None),
        instructions=tuple(Instruction.from_stored(body) for body in told),
        limits=board.limits,
        health=board.health,
        settings_version=board.settings_version,
    )


def sqlite_freeze_keys(turn: Turn) -> list[Place]:
    """Return the keys of the switches that freeze a turn's agent."""
    return [(f"{_SWITCH}{scope}", "S") for scope in (INSTALLATION, turn.agent_id)]


def sqlite_frozen_scope(stored: Mapping[Place, str], turn: Turn) -> str | None:
    """Return the scope whose switch freezes a turn's agent, or None."""
    frozen = (place for place in sqlite_freeze_keys(turn) if stored.get(place) == _IS_FROZEN)
    place = next(frozen, None)
    return None if place is None else place[0].removeprefix(_SWITCH)


def add_sqlite_budget_draws(
    batch: WriteBatch, draws: Iterable[BudgetDraw], stored: Mapping[Place, str]
) -> None:
    """Add the new totals of budgets to a batch; raise Exhausted if one exceeds its limit."""
    totals: dict[Place, int] = {}
    for drawn in draws:
        place = (f"BUDGET#{drawn.scope}", drawn.day)
        total = totals.get(place, int(stored.get(place) or 0)) + drawn.micro_usd
        limit = drawn.limit_micro_usd
        # What is given back is never refused, nor what has no limit: a cost above its reservation
        # was spent, and the budget must say so (ADR 0008).
        if limit is not None and drawn.micro_usd > 0 and total > limit:
            raise budget_exhausted_error(drawn, total - drawn.micro_usd)
        totals[place] = total
        batch.bodies.append(ItemRow(*place, str(total)))


def sqlite_budget_keys(draws: Iterable[BudgetDraw]) -> list[Place]:
    """Return the keys of the budgets that are drawn from."""
    return [(f"BUDGET#{drawn.scope}", drawn.day) for drawn in draws]


def _board(rows: Iterable[tuple[str, str]]) -> Board:
    board = Board()
    for name, body in rows:
        if name.startswith(_LIMIT):
            board.limits[name.removeprefix(_LIMIT)] = int(body)
        elif name == _SETTINGS:
            board.settings_version = int(body)
        elif name.startswith(_HEALTH):
            board.health[name.removeprefix(_HEALTH)] = BreakerState.from_stored(body)
    return board
