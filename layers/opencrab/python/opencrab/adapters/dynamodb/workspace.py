"""The ledger of workspaces in the table: per agent the sum, and one item for each file and folder.

A file's item holds its name against every name that looks the same, and a folder's item counts the
files in and below it, so one transaction refuses a twin, a file in place of a folder, and growth
beyond the quota. It costs by the depth of a path, never by the number of files.
"""

from collections import OrderedDict
from dataclasses import replace
from hashlib import sha256
from threading import Lock
from typing import Any

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.operand import Path
from pynamodb.expressions.update import Update

from opencrab.adapters.dynamodb.item import (
    Item,
    Schema,
    from_item_microseconds,
    to_item_microseconds,
)
from opencrab.adapters.dynamodb.table import (
    Cancelled,
    ConditionFailed,
    Table,
    Write,
    delete_dynamodb_item,
    item_absent,
    put_item,
    update_item,
)
from opencrab.domain.errors import Invalid
from opencrab.ports.clock import Clock
from opencrab.ports.workspace.files import FileInfo
from opencrab.ports.workspace.ledger import (
    LedgerEntry,
    SpaceReservation,
    file_name_taken_error,
    twin_file_names,
    workspace_over_quota_error,
)

FILE = Schema("workspace file")
FOLDER = Schema("workspace folder")
USAGE = Schema("workspace usage")
SUM = "U"

_NAME_BYTES = 60
"""A longer name stands as its hash: 16 of them fit into a sort key's 1,024 bytes."""
_HASH_LENGTH = 48
_SAVED = 256


class DynamoLedger:
    """`ports.workspace.ledger.WorkspaceLedger` on a DynamoDB table.

    The entry that this process saved last for a path is cached until a save fails. It may be stale:
    each save is conditional on the entry's revision.
    """

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock
        self._saved: OrderedDict[tuple[str, str], LedgerEntry] = OrderedDict()
        self._lock = Lock()

    def entry(self, agent_id: str, path: str) -> LedgerEntry:
        with self._lock:
            saved = self._saved.get((agent_id, path))
        if saved is not None:
            return saved
        item = self._table.get(
            dynamodb_workspace_partition(agent_id), dynamodb_sort_key_of_path(path)
        )
        entry = None if item is None else _workspace_entry_from_dynamodb_item(item)
        return entry if entry is not None and entry.path == path else LedgerEntry(path)

    def entries(self, agent_id: str, folder: str = "") -> tuple[LedgerEntry, ...]:
        below = f"{dynamodb_sort_key_of_path(folder)}/" if folder else "F#"
        items = self._table.query_prefix(dynamodb_workspace_partition(agent_id), below)
        return tuple(
            entry for entry in map(_workspace_entry_from_dynamodb_item, items) if entry is not None
        )

    def save(
        self, agent_id: str, entry: LedgerEntry, *, quota_bytes: int | None = None
    ) -> LedgerEntry | None:
        if entry.is_empty and not entry.revision:
            return entry
        self._forget(agent_id, entry.path)
        after = replace(entry, counted=entry.held, revision=self._clock.new_id())
        growth = after.counted - entry.counted
        if quota_bytes is not None and growth > quota_bytes:
            raise workspace_over_quota_error(entry.path, growth, self.usage(agent_id), quota_bytes)
        writes = [
            _entry_write(agent_id, entry, after),
            *_folders(agent_id, entry, after),
            *_usage_writes(agent_id, growth, quota_bytes),
        ]
        try:
            self._do(writes)
        except Cancelled as refusal:
            return _answer(refusal, after, growth, quota_bytes)
        return LedgerEntry(entry.path) if after.is_empty else self._noted(agent_id, after)

    def usage(self, agent_id: str) -> int:
        """Return the bytes that all files of an agent count for."""
        item = self._table.get(dynamodb_workspace_partition(agent_id), SUM)
        return 0 if item is None else int(USAGE.decode_item(item)["bytes"])

    def _noted(self, agent_id: str, saved: LedgerEntry) -> LedgerEntry:
        with self._lock:
            self._saved[agent_id, saved.path] = saved
            if len(self._saved) > _SAVED:
                self._saved.popitem(last=False)
        return saved

    def _forget(self, agent_id: str, path: str) -> None:
        with self._lock:
            self._saved.pop((agent_id, path), None)

    def _do(self, writes: list[Write]) -> None:
        if len(writes) > 1:
            self._table.transact(*writes)
            return
        try:
            self._table.write(writes[0])
        except ConditionFailed as refusal:
            raise Cancelled({0: refusal.item}) from refusal


def dynamodb_workspace_partition(agent_id: str) -> str:
    """Return the partition key of an agent's workspace ledger."""
    return f"WORKSPACE#{agent_id}"


def dynamodb_sort_key_of_path(path: str) -> str:
    """Return the sort key of a path, the same for all paths that look alike."""
    return "F#" + "/".join(map(_short, twin_file_names(path)))


def _workspace_entry_to_dynamodb_item(agent_id: str, entry: LedgerEntry) -> Item:
    """Serialize an entry to an item."""
    reservations = {
        each.token: [each.size, to_item_microseconds(each.at)] for each in entry.reservations
    }
    fields: dict[str, Any] = {
        "path": entry.path,
        "size": entry.size,
        "sha256": entry.info.sha256 if entry.info else None,
        "version": entry.info.version if entry.info else None,
        "clean": entry.info.clean if entry.info else None,
        "reservations": reservations or None,
        "counted": entry.counted,
        "revision": entry.revision,
    }
    return FILE.encode_item(
        dynamodb_workspace_partition(agent_id), dynamodb_sort_key_of_path(entry.path), fields
    )


def _workspace_entry_from_dynamodb_item(item: Item) -> LedgerEntry | None:
    """Deserialize an entry from an item; None for a folder's item."""
    if "revision" not in item:
        return None
    fields = FILE.decode_item(item)
    path, reservations = fields["path"], fields.get("reservations", {})
    # An earlier release stored no `clean`: of such a file only the size is known, and a list that
    # finds it reads the object once.
    known = "clean" in fields
    return LedgerEntry(
        path=path,
        size=fields.get("size"),
        info=FileInfo(
            path, fields["size"], fields["sha256"], fields["version"], clean=fields["clean"]
        )
        if known
        else None,
        reservations=tuple(
            SpaceReservation(token, size, from_item_microseconds(at))
            for token, (size, at) in reservations.items()
        ),
        counted=fields["counted"],
        revision=fields["revision"],
    )


def _short(name: str) -> str:
    """Return a name, or its hash if it is long or its normal form has a slash, as ／ has."""
    if len(name.encode()) <= _NAME_BYTES and "/" not in name:
        return name
    # No common form has a capital letter, so none begins like this.
    return "H" + sha256(name.encode()).hexdigest()[:_HASH_LENGTH]


def _entry_write(agent_id: str, before: LedgerEntry, after: LedgerEntry) -> Write:
    condition = _was(before) if before.revision else _is_free()
    if after.is_empty:
        return delete_dynamodb_item(
            dynamodb_workspace_partition(agent_id), dynamodb_sort_key_of_path(after.path), condition
        )
    return put_item(_workspace_entry_to_dynamodb_item(agent_id, after), condition)


def _was(before: LedgerEntry) -> Condition:
    was: Condition = (Path("revision") == before.revision) & (Path("schema") <= FILE.version)
    return was


def _is_free() -> Condition:
    """Return the condition that no file, and no folder with files, has this name."""
    free: Condition = item_absent() | (Path("files") == 0)
    return free


def _folders(agent_id: str, before: LedgerEntry, after: LedgerEntry) -> list[Write]:
    """Return the writes that count a new or removed file in each folder above it."""
    if before.revision and not after.is_empty:
        return []
    names = after.path.split("/")
    above = ["/".join(names[:depth]) for depth in range(1, len(names))]
    pk = dynamodb_workspace_partition(agent_id)
    if after.is_empty:
        return [
            update_item(
                pk,
                dynamodb_sort_key_of_path(folder),
                Update(Path("files").add(-1)),
                Path("files").exists(),
            )
            for folder in above
        ]
    return [
        update_item(
            pk,
            dynamodb_sort_key_of_path(folder),
            Update(
                Path("files").add(1),
                Path("path").set(folder),
                Path("schema").set(FOLDER.version),
            ),
            _is_free() | (Path("files").exists() & (Path("path") == folder)),
        )
        for folder in above
    ]


def _usage_writes(agent_id: str, growth: int, quota_bytes: int | None) -> list[Write]:
    if not growth:
        return []
    change = Update(Path("bytes").add(growth), Path("schema").set(USAGE.version))
    room = None
    if quota_bytes is not None and growth > 0:
        room = item_absent() | (Path("bytes") <= quota_bytes - growth)
    return [update_item(dynamodb_workspace_partition(agent_id), SUM, change, room)]


def _answer(
    refusal: Cancelled, after: LedgerEntry, growth: int, quota_bytes: int | None
) -> LedgerEntry | None:
    """Interpret a failed save: return the entry if it was saved by an earlier try, else None.

    Raises Invalid if the name is taken, and an error if the workspace is over its quota.
    """
    stored = refusal.failed.get(0)
    if 0 in refusal.failed and _is_saved(stored, after):
        return LedgerEntry(after.path) if after.is_empty else after
    for item in filter(None, refusal.failed.values()):
        taken = _clash(item, after.path)
        if taken is not None:
            raise taken
    if 0 in refusal.failed or quota_bytes is None:
        return None
    used = next((int(item["bytes"]["N"]) for item in refusal.failed.values() if item), 0)
    raise workspace_over_quota_error(after.path, growth, used, quota_bytes)


def _is_saved(stored: Item | None, after: LedgerEntry) -> bool:
    """Check whether an earlier try of this very save succeeded and only its response was lost."""
    if stored is None:
        return after.is_empty
    return stored.get("revision") == {"S": after.revision}


def _clash(item: Item, path: str) -> Invalid | None:
    """Return the error if an item has a name that the path needs; None if it does not."""
    existing = item.get("path", {}).get("S")
    if existing is None:
        return None
    is_folder = "files" in item
    wanted = "/".join(path.split("/")[: existing.count("/") + 1])
    if not is_folder and existing == path:
        return None
    return file_name_taken_error(wanted, existing, is_folder=is_folder)
