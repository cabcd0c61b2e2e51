"""What a turn looks at before each model call, on SQLite: switches, limits, health, settings.

Also the budgets, whose limits lie here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from opencrab.adapters.sqlite.database import Database, Items
from opencrab.domain.errors import Conflict
from opencrab.domain.models.health import Health
from opencrab.domain.models.preferences import Preferences
from opencrab.domain.money.budget import Draw, exhausted, limit_changes
from opencrab.domain.value import MicroUsd
from opencrab.ports.models.preferences import Stored

_BOARD, _LIMIT, _SETTINGS, _HEALTH = "BOARD", "LIMIT#", "SETTINGS", "HEALTH#"
_PREFERENCES, _DOCUMENT = "PREFERENCES", "P"
_SWITCH = "SWITCH#"
_FROZEN = "SELECT pk FROM item WHERE pk>=? AND pk<? AND sk='S' AND body='frozen' ORDER BY pk"


@dataclass
class Board:
    """What the board says, switches aside."""

    limits: dict[str, MicroUsd] = field(default_factory=dict)
    settings_version: int = 0
    health: dict[str, Health] = field(default_factory=dict)


class SqliteSwitches:
    """`ports.switches.Switches` on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def set(self, scope: str, *, frozen: bool) -> None:
        with self._database.writing() as items:
            items.put(f"{_SWITCH}{scope}", "S", "frozen" if frozen else "running")

    def frozen(self, scope: str) -> bool:
        with self._database.reading() as items:
            return is_frozen(items, scope)

    def all_frozen(self) -> tuple[str, ...]:
        with self._database.reading() as items:
            rows = items.execute(_FROZEN, (_SWITCH, "SWITCH$")).fetchall()
        return tuple(sorted(pk.removeprefix(_SWITCH) for (pk,) in rows))


class SqliteBudgets:
    """`ports.budgets.Budgets` on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def drawn(self, scope: str, day: str) -> MicroUsd:
        with self._database.reading() as items:
            return int(items.get(f"BUDGET#{scope}", day) or 0)

    def limits(self) -> dict[str, MicroUsd]:
        with self._database.reading() as items:
            return read(items).limits

    def change_limits(self, changes: Mapping[str, MicroUsd | None]) -> None:
        checked = limit_changes(changes)
        with self._database.writing() as items:
            for name, limit in checked.items():
                if limit is None:
                    items.delete(_BOARD, f"{_LIMIT}{name}")
                else:
                    items.put(_BOARD, f"{_LIMIT}{name}", str(limit))


class SqliteHealths:
    """`ports.health.ProviderHealths` on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[str, Health]:
        with self._database.reading() as items:
            return read(items).health

    def put(self, provider: str, health: Health, before: Health | None) -> bool:
        with self._database.writing() as items:
            body = items.get(_BOARD, f"{_HEALTH}{provider}")
            if before != (None if body is None else Health.model_validate_json(body)):
                return False
            items.put(_BOARD, f"{_HEALTH}{provider}", health.model_dump_json())
            return True

    def forget(self, provider: str) -> None:
        with self._database.writing() as items:
            items.delete(_BOARD, f"{_HEALTH}{provider}")


class SqlitePreferences:
    """`ports.preferences.PreferenceStore` on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self) -> Stored:
        with self._database.reading() as items:
            body = items.get(_PREFERENCES, _DOCUMENT)
        if body is None:
            return Stored(Preferences())
        version, document = json.loads(body)
        return Stored(Preferences.read(document), version)

    def save(self, preferences: Preferences, version: int) -> Stored:
        saved = Stored(preferences, version + 1)
        body = f"[{saved.version},{preferences.document()}]"
        with self._database.writing() as items:
            if version != int(items.get(_BOARD, _SETTINGS) or 0):
                raise Conflict(
                    f"the settings were changed meanwhile: version {version} is not the newest",
                    cure="load them again and repeat the change",
                )
            items.put(_PREFERENCES, _DOCUMENT, body)
            items.put(_BOARD, _SETTINGS, str(saved.version))
        return saved


def read(items: Items) -> Board:
    """The board, as of one moment."""
    board = Board()
    for name, body in items.between(_BOARD, "A", "Z"):
        if name.startswith(_LIMIT):
            board.limits[name.removeprefix(_LIMIT)] = int(body)
        elif name == _SETTINGS:
            board.settings_version = int(body)
        elif name.startswith(_HEALTH):
            board.health[name.removeprefix(_HEALTH)] = Health.model_validate_json(body)
    return board


def is_frozen(items: Items, scope: str) -> bool:
    """Whether a switch is turned."""
    return items.get(f"{_SWITCH}{scope}", "S") == "frozen"


def draw(items: Items, drawn: Draw) -> None:
    """Change a budget; raises Exhausted."""
    pk, sk = f"BUDGET#{drawn.scope}", drawn.day
    total = int(items.get(pk, sk) or 0) + drawn.micro_usd
    limit = drawn.limit_micro_usd
    if limit is not None and drawn.micro_usd > 0 and total > limit:
        raise exhausted(drawn)
    items.put(pk, sk, str(total))
