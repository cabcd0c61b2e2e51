"""What is published of an agent's index, put together as a new copy does it."""

import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

from opencrab.adapters.sqlite_search.index import Index
from opencrab.adapters.sqlite_search.publication.publication import IndexPublication
from opencrab.ports.memory.snapshots import Snapshot, SnapshotStore

_numbers = count(1)


def numbered(folder: Path) -> Callable[[], Path]:
    """Unused paths in a folder."""
    return lambda: folder / f"published-{next(_numbers)}.db"


def index_of(store: SnapshotStore, newest: Snapshot, file: Path) -> bool:
    """Put a snapshot and all that it builds upon into one file; False if a part of it is gone."""
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        news = IndexPublication(newest.agent_id, store, numbered(Path(folder))).fetch(newest)
        if news is None:
            return False
        assert news.file is not None
        news.file.replace(file)
    index = Index(newest.agent_id, file)
    for change in news.changes:
        index.take(change.batches, change.at)
    index.close()
    return True
