"""Fixtures with a real llama.cpp server; they skip, and say why, where its parts are absent."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import ROOT
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
def llama(start_llama: StartLlama) -> Iterator[LlamaServer]:
    """One server that many tests share."""
    with start_llama() as server:
        yield server
