"""What is read of the machine, with and without /proc."""

from pathlib import Path

import pytest

from opencrab.engine.insight.vitals import Machine
from opencrab.gateways.local.machine import PROC, MachineReader

NETWORK = """Inter-|   Receive                            |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets
    lo: 900 1 0 0 0 0 0 0 900 1 0 0 0 0 0 0
  eth0: 100 1 0 0 0 0 0 0 30 1 0 0 0 0 0 0
  eth1:5 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0
"""


def proc(folder: Path, cpu: str) -> Path:
    """A /proc with what is read of it."""
    (folder / "net").mkdir(exist_ok=True)
    (folder / "self").mkdir(exist_ok=True)
    (folder / "stat").write_text(f"cpu  {cpu}\ncpu0 1 1\n")
    (folder / "meminfo").write_text("MemTotal: 100 kB\nMemFree: 1 kB\nMemAvailable: 60 kB\n")
    (folder / "self/status").write_text("Name:\tx\nVmRSS:\t   8 kB\n")
    (folder / "net/dev").write_text(NETWORK)
    return folder


def test_the_load_is_that_since_the_reading_before(tmp_path: Path) -> None:
    read = MachineReader(proc(tmp_path, "10 0 10 70 10 0 0 0 5 5"))
    proc(tmp_path, "20 0 20 120 40 0 0 0 9 9")
    assert read() == Machine(
        cpu_percent=20.0,
        memory_used_bytes=40_960,
        memory_total_bytes=102_400,
        process_memory_bytes=8_192,
        received_bytes=105,
        sent_bytes=37,
    )
    proc(tmp_path, "70 0 20 120 40 0 0 0 9 9")
    assert read().cpu_percent == 100.0


@pytest.mark.parametrize(("load", "shown"), [(0.25, 25.0), (7.0, 100.0), (None, None)])
def test_without_proc_only_the_load_is_known(
    tmp_path: Path, load: float | None, shown: float | None
) -> None:
    read = MachineReader(tmp_path / "nowhere", lambda: load)
    assert read() == Machine(cpu_percent=shown)


@pytest.mark.skipif(not PROC.exists(), reason="there is no /proc here")
def test_this_machine_can_be_read() -> None:
    found = MachineReader()()
    assert found.memory_total_bytes is not None
    assert found.process_memory_bytes is not None
    assert 0 < found.process_memory_bytes < found.memory_total_bytes
