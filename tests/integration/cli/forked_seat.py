"""A terminal whose command is forked from a process that has loaded the program already.

So is the server that the command starts for as long as it needs one (`bootstrap.local.process`):
what the command takes for Python hands arguments, environment and streams to a fork that waits.
`tests.integration.cli.house.seat` starts both from nothing.
"""

import importlib
import json
import multiprocessing.context
import os
import pty
import select
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from opencrab.bootstrap import main
from tests.integration.cli.forked import FORKS, LOADED, SERVING, take_streams
from tests.integration.cli.house import OPENCRAB, House, Seat

FORKS.set_forkserver_preload([*LOADED, *SERVING, "tests.integration.cli.loaded_server"])

_SERVER = "opencrab.bootstrap.local.process.temporary_server"

_PYTHON = """#!{python} -SE
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect(os.path.join(os.path.dirname(__file__), "socket"))
    body = json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]).encode()
    socket.send_fds(asked, [body], [0, 1, 2])
    asked.shutdown(socket.SHUT_WR)
    pid = int(asked.recv(16))
    signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
    sys.exit(int(asked.recv(16) or b"1"))
"""


class _Child:
    """A forked process, asked as `subprocess.Popen` is."""

    def __init__(self, process: multiprocessing.context.ForkServerProcess) -> None:
        self._process = process
        self.pid = process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        assert self._process.exitcode is not None, f"it runs after {timeout} s"
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()


@contextmanager
def forked_seat(house: House, *args: str, more: Mapping[str, str] | None = None) -> Iterator[Seat]:
    """The command in a terminal of its own, as `house.seat` has it, but forked."""
    screen, side = pty.openpty()
    environment = {**house.environment, "OPENCRAB_DATA": str(house.data), **(more or {})}
    with tempfile.TemporaryDirectory() as folder:
        process = FORKS.Process(
            target=_sit_down,
            args=(os.ttyname(side), Path(folder), args, environment, house.folder),
        )
        process.start()
        child = _Child(process)
        person = Seat(child, screen)
        try:
            yield person
        finally:
            child.kill()
            child.wait()
            os.close(side)
            if not person.is_closed:
                os.close(screen)


def _sit_down(
    terminal: str,
    folder: Path,
    args: tuple[str, ...],
    environment: Mapping[str, str],
    home: Path,
) -> None:
    """Turn this process into the command at a terminal."""
    python = folder / "python"
    python.write_text(_PYTHON.format(python=sys.executable), encoding="utf-8")
    python.chmod(0o700)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket"))
        listening.listen()
        ended, alive = os.pipe()
        if os.fork() == 0:
            os.close(alive)
            _wait_to_serve(listening, ended)
    os.close(ended)
    os.setsid()
    side = os.open(terminal, os.O_RDWR)  # of the leader of a new session: it controls it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.executable = str(python)
    take_streams((side, side, side), environment, home)
    sys.argv = [str(OPENCRAB), *args]
    main()


def _wait_to_serve(listening: socket.socket, ended: int) -> NoReturn:
    """Become the server that the command starts; end with the command if it starts none."""
    ready, _, _ = select.select([listening.fileno(), ended], [], [])
    if listening.fileno() not in ready:
        os._exit(0)
    asking, _ = listening.accept()
    code = 1
    try:
        body, streams, _, _ = socket.recv_fds(asking, 1 << 16, 3)
        while more := asking.recv(1 << 16):
            body += more
        (*_, module, options), environment, home = json.loads(body)
        assert module == _SERVER, module
        os.setsid()
        asking.sendall(str(os.getpid()).encode())
        take_streams(streams, environment, Path(home))
        sys.argv = [module, options]
        importlib.import_module(module).serve_while_input_is_open()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:  # noqa: BLE001 - whatever it is, the one who waits must know
        traceback.print_exc()
    sys.stdout.flush()
    asking.sendall(str(code).encode())
    os._exit(code)
