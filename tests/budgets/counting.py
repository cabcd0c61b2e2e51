"""Counts what a piece of work does: functions of ours that it enters, SQL, waits for the disk.

The counts are the same on every run, computer and Python, so a clock has no part in them:

- A function counts when it is entered. Generators and coroutines count once and not at every
  resumption, which for a coroutine depends on how fast another thread was; comprehensions do not
  count at all, since Python inlines them from 3.12 on (PEP 709).
- An fsync is one of ours on a file, or the one that SQLite makes in a commit that changed something
  when the file is in WAL mode and `synchronous` is FULL. Checkpoints, which come once in a thousand
  pages, are not counted.
"""

import dis
import gc
import os
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import opencrab
from opencrab.adapters.local_files.disk import REAL_DISK, Disk

OURS = str(Path(opencrab.__file__).parent) + os.sep
_INLINED = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})
_FULL = 2


@cache
def entry(code: CodeType) -> int:
    """Where a function begins; one that is resumed goes on behind that."""
    return next(each.offset for each in dis.get_instructions(code) if each.opname == "RESUME")


@dataclass
class Calls:
    """Functions of a folder by how often they were entered, in this thread and in new ones."""

    folder: str = OURS
    entered: Counter[CodeType] = field(default_factory=Counter)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """A profile function: Python calls it at every call and return."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(self.folder):
            return
        if code.co_name not in _INLINED and frame.f_lasti == entry(code):
            self.entered[code] += 1


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage is collected here: its finalizers would run whenever the collector thinks fit."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def calls(folder: str = OURS) -> Iterator[Calls]:
    """Count in this thread, and in those that begin here."""
    found = Calls(folder)
    with uncollected():
        threading.setprofile(found)
        sys.setprofile(found)
        try:
            yield found
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


@dataclass
class Durable:
    """What reaches a database and the disk; `disk` is for the files beside the database."""

    statements: int = 0
    transactions: int = 0
    fsyncs: int = 0
    disk: Disk = field(init=False)

    def __post_init__(self) -> None:
        self.disk = replace(REAL_DISK, fsync=self._fsync)

    def watch(self, connection: sqlite3.Connection) -> None:
        """Count what is said on a connection from here on."""
        waits = connection.execute("PRAGMA synchronous").fetchone()[0] >= _FULL
        before = 0

        def said(statement: str) -> None:
            nonlocal before
            if statement.startswith("--"):  # what a trigger does belongs to the statement
                return
            self.statements += 1
            if statement.startswith("BEGIN IMMEDIATE"):
                before = connection.total_changes
            if statement == "COMMIT":
                self.transactions += 1
                self.fsyncs += waits and connection.total_changes > before

        connection.set_trace_callback(said)

    def reset(self) -> None:
        """Begin at nothing."""
        self.statements = self.transactions = self.fsyncs = 0

    def _fsync(self, descriptor: int) -> None:
        self.fsyncs += 1
        os.fsync(descriptor)
