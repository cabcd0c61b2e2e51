"""What the kernel counts of a running server and of all processes that it started."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.running import Server

_CPU_CLOCK = 2
"""Of the clocks of a process the one that the scheduler keeps: nanoseconds, ended threads too."""


def processes(running: Server) -> Iterator[int]:
    """Ids of the server and of its children, theirs included."""
    yield from _family(running.process.pid)


def cpu_ms(running: Server) -> float:
    """CPU that they have used so far."""
    clocks = ((~pid << 3) | _CPU_CLOCK for pid in processes(running))
    return sum(time.clock_gettime(clock) for clock in clocks) * 1_000


def resident_mb(running: Server) -> float:
    """Memory that they have resident now; what they share counts once for each."""
    pages = (Path(f"/proc/{pid}/statm").read_text().split()[1] for pid in processes(running))
    return sum(map(int, pages)) * os.sysconf("SC_PAGE_SIZE") / 2**20


def bytes_written(running: Server) -> int:
    """What they have given to the system to write (`wchar` of /proc/PID/io): files and pipes."""
    return sum(_written(pid) for pid in processes(running))


def bytes_written_while_stopping(running: Server) -> int:
    """Stop the server; what its main process writes until it has ended."""
    before = _written(running.process.pid)
    running.process.terminate()
    os.waitid(os.P_PID, running.process.pid, os.WEXITED | os.WNOWAIT)
    return _written(running.process.pid) - before


def _family(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        children = ""
        with suppress(FileNotFoundError, ProcessLookupError):  # threads may end meanwhile
            children = (task / "children").read_text()
        for child in children.split():
            yield from _family(int(child))


def _written(pid: int) -> int:
    rows = Path(f"/proc/{pid}/io").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("wchar"))
