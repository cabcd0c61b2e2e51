"""Machine: the load, memory and network of the computer that OpenCrab runs on.

It reads /proc and the standard library only; where there is no /proc, most of it is unknown.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from opencrab.engine.insight.vitals import Machine

PROC = Path("/proc")
_IDLE, _WAITING = 3, 4
"""Places in the first line of /proc/stat."""

_RECEIVED, _SENT = 0, 8
"""Places in a line of /proc/net/dev, after the name."""

_KIB = 1024


class MachineReader:
    """A reader of /proc; the CPU load is that of the time since the previous reading."""

    def __init__(self, proc: Path = PROC, load: Callable[[], float | None] | None = None) -> None:
        self._proc = proc
        self._load = load or _load_average
        self._before = self._cpu()

    def __call__(self) -> Machine:
        """Return the current load, memory and network traffic of the machine."""
        memory, network = self._memory(), self._network()
        total, free = memory.get("MemTotal"), memory.get("MemAvailable")
        return Machine(
            cpu_percent=self._cpu_percent(),
            memory_used_bytes=None if total is None or free is None else total - free,
            memory_total_bytes=total,
            process_memory_bytes=self._process(),
            received_bytes=None if network is None else network[0],
            sent_bytes=None if network is None else network[1],
        )

    def _rows(self, name: str) -> list[str]:
        with suppress(OSError):
            return (self._proc / name).read_text(encoding="utf-8").splitlines()
        return []

    def _cpu(self) -> tuple[int, int] | None:
        """Return the busy and the total time of all processors, in ticks since boot."""
        rows = self._rows("stat")
        if not rows or not rows[0].startswith("cpu "):
            return None
        # The last two are the guests', which the first ones have already.
        times = [int(number) for number in rows[0].split()[1:9]]
        idle = sum(times[_IDLE : _WAITING + 1])
        return sum(times) - idle, sum(times)

    def _cpu_percent(self) -> float | None:
        before, now = self._before, self._cpu()
        self._before = now
        if before is None or now is None or now[1] <= before[1]:
            share = self._load()
        else:
            share = (now[0] - before[0]) / (now[1] - before[1])
        return None if share is None else round(100 * min(max(share, 0.0), 1.0), 1)

    def _memory(self) -> dict[str, int]:
        """Return the values of /proc/meminfo in bytes."""
        pairs = (row.partition(":") for row in self._rows("meminfo"))
        return {name: int(rest.split()[0]) * _KIB for name, _, rest in pairs if rest.strip()}

    def _process(self) -> int | None:
        """Return the resident memory of this process in bytes; None if unknown."""
        for row in self._rows("self/status"):
            name, _, rest = row.partition(":")
            if name == "VmRSS":
                return int(rest.split()[0]) * _KIB
        return None

    def _network(self) -> tuple[int, int] | None:
        """Return the bytes received and sent since boot, without loopback; None if unknown."""
        counts = []
        for row in self._rows("net/dev")[2:]:
            name, _, rest = row.partition(":")
            if name.strip() != "lo":
                numbers = rest.split()
                counts.append((int(numbers[_RECEIVED]), int(numbers[_SENT])))
        if not counts:
            return None
        return sum(received for received, _ in counts), sum(sent for _, sent in counts)


def _load_average() -> float | None:
    """Return the load average of the last minute per processor; None if unknown."""
    with suppress(AttributeError, OSError):
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    return None
