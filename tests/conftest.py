"""What all tests share: no network, the recordings of the wire, and patience on slow machines."""

import gc
import ipaddress
import os
import socket
import sys
from collections.abc import Generator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.soak import SOAK, count, told

ROOT = Path(__file__).resolve().parent.parent
"""The checkout."""

hypothesis.settings.register_profile(
    "opencrab",
    deadline=None,
    max_examples=count("examples of a property"),
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("opencrab")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: some worker always waits for a process or a browser."""
    return (os.cpu_count() or 1) + 1


# Httpx asks for it at every request to an application in this process, and Python would look for it
# in every folder again: a tenth of what such a request takes.
if find_spec("sniffio") is None:
    sys.modules["sniffio"] = None  # type: ignore[assignment]

# The garbage collector would look at thousands of tests again and again as they are collected.
gc.set_threshold(100_000, 50, 100)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Begin at another file than the other workers, which load the same ones at the same time.

    The first time pytest compiles each, which takes three quarters of the time; so each worker
    compiles a part, and finds there what others compiled.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    first = len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for file in files[first:] + files[:first]:
        # Whatever is wrong with one is told when pytest comes to it.
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over thousands of tests: looking at them takes a sixth."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take the time that is needed: at length a test may run for hours."""
    if SOAK:
        for item in items:
            item.add_marker(pytest.mark.timeout(0), append=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what a soak tried."""
    if SOAK:
        terminalreporter.section("tried at length")
        terminalreporter.write("".join(f"{line}\n" for line in told()))


class NoNetworkError(OSError):
    """A test reached for something beyond this machine."""


_WATCHED = frozenset(
    {
        *("socket.connect", "socket.sendto", "socket.sendmsg"),
        *("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"),
    }
)


class NetworkGuard:
    """Refuses whatever would leave this machine, and remembers it if the refusal was swallowed."""

    def __init__(self) -> None:
        self.open = False
        self._refused: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Judge an event that may leave this machine."""
        if self.open:
            return
        host = _host(event, arguments)
        if host is None or _is_this_machine(host):
            return
        self._refused.append(f"{event} {host!r}")
        raise NoNetworkError(f"tests have no network: {event} {host!r}")

    def taken(self) -> list[str]:
        """What was refused since somebody last asked."""
        taken, self._refused = self._refused, []
        return taken


def _host(event: str, arguments: tuple[Any, ...]) -> str | None:
    """The host that an event is about; None when it concerns no other machine."""
    match event, arguments:
        case (
            ("socket.connect" | "socket.sendto" | "socket.sendmsg"),
            (socket.socket() as used, (host, *_)),
        ) if used.family in {socket.AF_INET, socket.AF_INET6}:
            return _text(host)
        case (("socket.getaddrinfo" | "socket.gethostbyname" | "socket.gethostbyaddr"), (host, *_)):
            return _text(host)
        case _:
            return None


def _text(host: object) -> str | None:
    if isinstance(host, bytes | bytearray):
        return host.decode("ascii", "replace")
    return None if host is None else str(host)


def _is_this_machine(host: str) -> bool:
    name = host.rstrip(".").lower()
    if name in {"", "localhost"} or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


network_guard = NetworkGuard()


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Python calls it at every event, thousands of times a test: it does nothing but look."""
    if event in _WATCHED:
        network_guard(event, arguments)


sys.addaudithook(_audit)


def _guarded(item: pytest.Item) -> Generator[None, object, object]:
    """Run one phase of a test; fail it when something was refused, swallowed or not."""
    network_guard.open = item.get_closest_marker("live") is not None
    try:
        result = yield
    finally:
        network_guard.open = False
        refused = network_guard.taken()
    if refused:
        pytest.fail(f"the test reached for the network: {', '.join(refused)}", pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Guard the fixtures."""
    return (yield from _guarded(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Guard the test."""
    return (yield from _guarded(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Guard the end of the fixtures."""
    return (yield from _guarded(item))


@pytest.fixture(scope="session")
def wire() -> Path:
    """The recordings of real exchanges, and the schemas that vendors publish."""
    folder = Path(os.environ.get("OPENCRAB_WIRE", ROOT.parent / "shared" / "wire"))
    if not (folder / "cassettes" / "INDEX.json").is_file():
        pytest.skip(f"no recordings in {str(folder)!r}: set OPENCRAB_WIRE to their folder")
    return folder
