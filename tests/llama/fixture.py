"""Fixtures with a real llama.cpp server; they skip, and say why, where its parts are absent."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from opencrab.adapters.providers.transport.exchange import Transport
from opencrab.adapters.providers.transport.http_connections import HttpConnections
from opencrab.adapters.providers.transport.http_transport import HttpTransport
from tests.conftest import ROOT
from tests.llama.asking import Parting
from tests.llama.server import LlamaServer, StartLlama, running


@pytest.fixture(scope="session")
def start_llama(wire: Path) -> StartLlama:
    """Starts a server of its own: `with start_llama(context_tokens=512, api_key="…") as server`."""
    model = wire / "llama-peer" / "tiny.gguf"
    environment = ROOT / ".venv-llama"
    if not model.is_file():
        pytest.skip(f"no model to serve: {str(model)!r} is absent")
    if not (environment / ".ready").is_file():
        pytest.skip("no llama.cpp server to start: run `make setup`")
    return partial(running, environment / "bin" / "python", model)


@pytest.fixture(scope="session")
def start_model() -> StartLlama:
    """Starts a server of the model with 32,768 tokens, which `make setup` makes."""
    environment = ROOT / ".venv-llama"
    if not (environment / ".model").is_file():
        pytest.skip("no model with a context of 32,768 tokens: run `make setup`")
    python, model = environment / "bin" / "python", environment / "model.gguf"
    return partial(running, python, model, context_tokens=32_768, dry=True)


@pytest.fixture(scope="session")
def large(start_model: StartLlama) -> Iterator[LlamaServer]:
    """One server of that model which many tests share."""
    with start_model() as server:
        yield server


@pytest.fixture
def transport() -> Iterator[Transport]:
    """What our providers speak through."""
    with HttpConnections() as client:
        yield Parting(HttpTransport(client))


@pytest.fixture(scope="session")
def llama(start_llama: StartLlama) -> Iterator[LlamaServer]:
    """One server that many tests share."""
    with start_llama() as server:
        yield server


@pytest.fixture(scope="session")
def seeded(start_llama: StartLlama) -> Iterator[LlamaServer]:
    """One that answers the same request the same each time."""
    with start_llama(seed=1) as server:
        yield server


@pytest.fixture(scope="session")
def sdk() -> Path:
    """A Python that has the vendors' own libraries."""
    environment = ROOT / ".venv-sdk"
    if not (environment / ".ready").is_file():
        pytest.skip("no libraries of the vendors to compare with: run `make setup`")
    return environment / "bin" / "python"
