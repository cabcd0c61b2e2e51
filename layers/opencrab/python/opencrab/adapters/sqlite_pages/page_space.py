"""Unused space of pages: finds and clears pieces of removed rows in the pages of a SQLite file.

With `PRAGMA secure_delete=ON` SQLite overwrites a row that it removes, but not the older copy of a
row that it moved to another page when it split or merged pages: that copy stays in the first page's
unused space, and nothing overwrites it when the row is removed later. The unused space lies between
the cell pointers and the cells of a page (https://sqlite.org/fileformat2.html#b_tree_pages). SQLite
reads nothing there, so zeros can be written to it. Which pages have one is told by the pointer map,
so only files with auto-vacuum are read.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from struct import Struct

_HEADERS = {2: 12, 5: 12, 10: 8, 13: 8}
"""The size of a b-tree page's header by its first byte."""

_HEADER = Struct(">BHHH")
_FILE_HEADER = 100
"""The bytes of the file's header, which stand before the first page's own."""

_RESERVED = 20
"""Where the file's header says how many bytes of each page are reserved."""

_TREE = {1, 5}
"""The types of b-tree pages in the pointer map."""

_ENTRY = 5
_LOCK_BYTE = 0x40000000
_TEXT = re.compile(rb"[\x20-\xff]{2}")
"""Two bytes of text in a row. Old cell pointers, which are smaller than a page, have none."""

_AT_ONCE = 256
_LOG_HEADER = 32
_FRAME_HEADER = 24


@dataclass(frozen=True)
class DatabasePages:
    """An open SQLite file with auto-vacuum and `page_bytes` in each page."""

    descriptor: int
    page_bytes: int

    def find(self) -> Iterator[int]:
        """Yield the pages that have text in their unused space; nobody writes to the file."""
        kind = lru_cache(maxsize=4)(self._read)
        heads = Struct(f"{_HEADER.format}{self.page_bytes - _HEADER.size}x")
        if _leftovers(self._read(1), 1):
            yield 1
        number = 1
        while chunk := self._read(number, _AT_ONCE):
            whole = len(chunk) // self.page_bytes
            for page in _pages_with_text(chunk[: whole * self.page_bytes], heads):
                if self._is_tree(number + page, kind(self._map(number + page))):
                    yield number + page
            number += whole
            if whole < _AT_ONCE:
                return

    def clear(self, number: int) -> bool:
        """Write zeros to the unused space of a page, if it has text there; return whether it had.

        Nobody may have a newer copy of the page.
        """
        page = self._read(number)
        found = _leftovers(page, number) if len(page) == self.page_bytes else None
        if found is None or not self._is_tree(number, self._read(self._map(number))):
            return False
        begins, ends = found
        os.pwrite(self.descriptor, bytes(ends - begins), self._place(number) + begins)
        return True

    @cached_property
    def _reserved(self) -> int:
        """The bytes at the end of each page that some builds of SQLite leave to extensions."""
        return os.pread(self.descriptor, 1, _RESERVED)[0]

    def _read(self, number: int, pages: int = 1) -> bytes:
        return os.pread(self.descriptor, self.page_bytes * pages, self._place(number))

    def _place(self, number: int) -> int:
        return (number - 1) * self.page_bytes

    def _map(self, number: int) -> int:
        """Return the page of the pointer map that tells of a page."""
        each = (self.page_bytes - self._reserved) // _ENTRY + 1
        found = max(number - 2, 0) // each * each + 2
        return found + (found == _LOCK_BYTE // self.page_bytes + 1)

    def _is_tree(self, number: int, pointer_map: bytes) -> bool:
        place = (number - self._map(number) - 1) * _ENTRY
        return number == 1 or (place >= 0 and pointer_map[place] in _TREE)


def sqlite_pages_in_log(descriptor: int, page_bytes: int) -> set[int]:
    """Return all pages of which a write-ahead log has a copy."""
    size, found = os.fstat(descriptor).st_size, set[int]()
    for place in range(_LOG_HEADER, size - _FRAME_HEADER, _FRAME_HEADER + page_bytes):
        found.add(int.from_bytes(os.pread(descriptor, 4, place), "big"))
    return found


def _pages_with_text(chunk: bytes, heads: Struct) -> Iterator[int]:
    """Yield which of these pages, counted from 0, may have text in unused space, but for the first.

    Every page of a file is looked at here, and most have none, so that is found out with few steps.
    """
    size, header_bytes, nothing = heads.size, _HEADERS.get, bytes(heads.size)
    for page, (kind, _, cells, ends) in enumerate(heads.iter_unpack(chunk)):
        header = header_bytes(kind)
        if header is not None and (begins := header + 2 * cells) < ends <= size:
            unused = chunk[page * size + begins : page * size + ends]
            if not nothing.startswith(unused) and _TEXT.search(unused.strip(b"\0")):
                yield page


def _leftovers(page: bytes, number: int) -> tuple[int, int] | None:
    """Return where the unused space of a b-tree page begins and ends; None if it has no text."""
    at = _FILE_HEADER if number == 1 else 0
    kind, _, cells, ends = _HEADER.unpack_from(page, at)
    if kind not in _HEADERS:
        return None
    begins = at + _HEADERS[kind] + 2 * cells
    if not begins < ends <= len(page) or not _TEXT.search(page[begins:ends].strip(b"\0")):
        return None
    return begins, ends
