"""`opencrab` in a shell, forked from a process that has loaded the program already.

A page has a dozen commands, and to load the program takes most of what each of them needs. A shell
function of that name hands the streams of the shell to the process that forks; `opencrab up` is not
touched, since make starts it, and neither is the relay, which runs beside other commands until its
terminal interrupts it.
"""

import json
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from tests.integration.cli.forked import run_on
from tests.integration.cli.house import OPENCRAB, SECONDS

_ASK = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect(sys.argv[1])
    wanted = [sys.argv[2:], dict(os.environ), os.getcwd(), os.getpid()]
    asked.sendall(json.dumps(wanted).encode())
    asked.shutdown(socket.SHUT_WR)
    sys.exit(int(asked.recv(16)))
"""

_TAKE = 'if [ "$3" = relay ]; then command opencrab "$@"; else {}; fi;'


@contextmanager
def forked_command() -> Iterator[dict[str, str]]:
    """What the environment of a shell needs so that its `opencrab` is forked."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        address, program = Path(folder) / "socket", Path(folder) / "ask.py"
        program.write_text(_ASK, encoding="utf-8")
        listening.bind(str(address))
        listening.listen()
        Thread(target=_serve, args=(listening,), daemon=True).start()
        command = f'"{sys.executable}" -SE "{program}" "{address}" "$@"'
        try:
            yield {"BASH_FUNC_opencrab%%": f"() {{ {_TAKE.format(command)} }}"}
        finally:
            listening.shutdown(socket.SHUT_RDWR)


def _serve(listening: socket.socket) -> None:
    while True:
        try:
            asking, _ = listening.accept()
        except OSError:  # it was shut down
            return
        with asking, asking.makefile("rb") as body:
            args, environment, folder, pid = json.loads(body.read())
            streams = [Path(f"/proc/{pid}/fd/{number}") for number in range(3)]
            code = run_on(
                streams,
                OPENCRAB,
                args,
                environment=environment,
                folder=Path(folder),
                timeout=SECONDS,
            )
            asking.sendall(str(code).encode())
