"""An AWS of one's own: MiniStack (patched) on a loopback port, with TLS and with IAM enforced."""

import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import botocore.session
from botocore.config import Config

from tests.conftest import ROOT

ENVIRONMENT = ROOT / ".venv-ministack"
PATCHED = ROOT / "tests" / "deployed" / "patched_ministack.py"
REGION = "us-east-1"
START_SECONDS = 60
END_SECONDS = 10


@dataclass(frozen=True)
class Credentials:
    """Whose requests these are; MiniStack takes `test` for the owner of the account."""

    key_id: str = "test"
    secret: str = field(default="test", repr=False)
    token: str | None = field(default=None, repr=False)

    def environment(self) -> dict[str, str]:
        """As AWS's programs read them."""
        named = {"AWS_ACCESS_KEY_ID": self.key_id, "AWS_SECRET_ACCESS_KEY": self.secret}
        return named if self.token is None else {**named, "AWS_SESSION_TOKEN": self.token}


OWNER = Credentials()


@dataclass(frozen=True)
class Emulator:
    """A running MiniStack; what it writes lies below `folder`."""

    port: int
    folder: Path
    is_strict: bool = True

    @property
    def url(self) -> str:
        """Where every service is."""
        return f"{'https' if self.is_strict else 'http'}://127.0.0.1:{self.port}"

    @property
    def certificate(self) -> Path:
        """The emulator made it for itself; whoever speaks to it trusts it alone."""
        return self.folder / "tmp" / "ministack-tls" / "server.crt"

    @property
    def log(self) -> Path:
        """What the emulator wrote, the functions' own lines among it."""
        return self.folder / "ministack.log"

    @cached_property
    def trust(self) -> ssl.SSLContext:
        """For requests of one's own."""
        return ssl.create_default_context(cafile=str(self.certificate))

    def environment(self, credentials: Credentials = OWNER) -> dict[str, str]:
        """For programs that speak to AWS: this one instead, and nothing of the user's own."""
        trusted = ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
        return {
            **plain_environment(self.folder),
            **credentials.environment(),
            **dict.fromkeys(trusted, str(self.certificate)),
            "AWS_ENDPOINT_URL": self.url,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
        }

    @cached_property
    def _session(self) -> Any:
        """Keeps the descriptions of services, which take longest of all to read."""
        return botocore.session.Session()

    @cached_property
    def _clients(self) -> dict[tuple[str, Credentials], Any]:
        return {}

    def client(self, service: str, credentials: Credentials = OWNER) -> Any:
        """A client of one service; whoever asks again gets the same."""
        if (service, credentials) not in self._clients:
            self._clients[service, credentials] = self._new_client(service, credentials)
        return self._clients[service, credentials]

    def _new_client(self, service: str, credentials: Credentials) -> Any:
        made = self._session.create_client(
            service,
            region_name=REGION,
            endpoint_url=self.url,
            verify=str(self.certificate),
            aws_access_key_id=credentials.key_id,
            aws_secret_access_key=credentials.secret,
            aws_session_token=credentials.token,
            config=Config(read_timeout=70, retries={"total_max_attempts": 1}),
        )
        # A connection that waits for the next request may be closed just as that is sent.
        made.meta.events.register("before-send", _close_afterwards)
        return made


def _close_afterwards(request: Any, **_: object) -> None:
    request.headers["Connection"] = "close"


def plain_environment(folder: Path) -> dict[str, str]:
    """What a program needs of this computer, with its home and its scratch below a folder."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "TMPDIR": str(folder / "tmp"),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "SAM_CLI_TELEMETRY": "0",
    }


def why_not() -> str:
    """Why it cannot be started here; empty when it can."""
    if not (ENVIRONMENT / "bin" / "ministack").is_file():
        return "there is no emulator: `make test-deployed` installs it"
    if shutil.which("openssl") is None:
        return "the emulator makes its certificate with openssl, which is not here"
    return ""


def free_port() -> int:
    """A port of this computer that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def emulator(folder: Path, *, is_strict: bool = True) -> Iterator[Emulator]:
    """MiniStack from start to end, with everything that it starts; a strict one enforces IAM."""
    made = Emulator(free_port(), folder, is_strict)
    (folder / "tmp").mkdir()
    settings = {
        "GATEWAY_PORT": str(made.port),
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_HOST": "127.0.0.1",
        "AUTH": str(is_strict).lower(),
        # The bucket's policy refuses what does not come over TLS.
        "USE_SSL": str(int(is_strict)),
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
        "PERSIST_STATE": "0",
        "AWS_DEFAULT_REGION": REGION,
    }
    command = [str(ENVIRONMENT / "bin" / "python"), str(PATCHED)]
    with made.log.open("wb") as log, group(command, settings, folder, log) as process:
        _wait_until_it_serves(made, process)
        yield made


@contextmanager
def group(
    command: list[str], settings: Mapping[str, str], folder: Path, log: Any
) -> Iterator["subprocess.Popen[bytes]"]:
    """A program in a process group of its own, which ends as a whole."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**plain_environment(folder), **settings},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        _end(process)


def _wait_until_it_serves(made: Emulator, process: "subprocess.Popen[bytes]") -> None:
    """Wait for the port: it opens last."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", made.port), timeout=5).close()
        except OSError:
            rest(0.05)
        else:
            return
    raise RuntimeError(f"the emulator does not serve: {made.log.read_text()[-2_000:]}")


def rest(seconds: float) -> None:
    """Do nothing for a while: what is waited for is another process."""
    select.select([], [], [], seconds)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ask the whole group to end, then end it: its functions must not outlive it."""
    for wish in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, wish)
        except ProcessLookupError:
            break
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    process.wait()
