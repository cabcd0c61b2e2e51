"""A real llama.cpp server as a value: started from another environment, asked until it serves."""

import http.client
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

SERVE = Path(__file__).with_name("serve.py")
START_SECONDS = 100.0


@dataclass(frozen=True)
class LlamaServer:
    """Where it listens, and what it was started with; `url` is without `/v1`."""

    url: str
    context_tokens: int
    api_key: str = field(repr=False)
    started_in_seconds: float


StartLlama = Callable[..., AbstractContextManager[LlamaServer]]


@contextmanager
def running(
    python: Path,
    model: Path,
    *,
    context_tokens: int = 8192,
    api_key: str = "",
    embeddings: bool = False,
    seed: int | None = None,
    dry: bool = False,
) -> Iterator[LlamaServer]:
    """A server for a model, run by a Python that has xllamacpp, for as long as it is needed.

    With a seed it answers the same request the same each time; `dry` penalises repetition.
    """
    began = time.perf_counter()
    command = [str(python), str(SERVE), str(model), "--context-tokens", str(context_tokens)]
    command += ["--api-key", api_key] if api_key else []
    command += ["--embeddings"] if embeddings else []
    command += ["--seed", str(seed)] if seed is not None else []
    command += ["--dry"] if dry else []
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = _port(process)
        _wait_until_healthy(port)
        yield LlamaServer(
            url=f"http://127.0.0.1:{port}",
            context_tokens=context_tokens,
            api_key=api_key,
            started_in_seconds=time.perf_counter() - began,
        )
    finally:
        _end(process)


def _port(process: subprocess.Popen[bytes]) -> int:
    """The port that the server names; what else it writes is passed over."""
    assert process.stdout is not None
    while select.select([process.stdout], [], [], START_SECONDS)[0]:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the llama.cpp server ended with {process.wait()}")
        before, found, port = line.decode("utf-8", "replace").partition("listening on ")
        if found and not before:
            return int(port)
    raise TimeoutError("the llama.cpp server named no port")


def _wait_until_healthy(port: int) -> None:
    """Ask until the model is loaded."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == http.HTTPStatus.OK:
                return
        except OSError:
            pass
        finally:
            connection.close()
        select.select([], [], [], 0.02)
    raise TimeoutError("the llama.cpp server did not become healthy")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let go of its input, and insist if that is not enough."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
