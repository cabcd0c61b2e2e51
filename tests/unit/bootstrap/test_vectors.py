"""Vectors are wired only where the settings ask for them, and only where they can work."""

import subprocess
import sys
from typing import cast

import pytest

from opencrab import settings
from opencrab.adapters.sqlite_search.vectors import Vectors
from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap.aws.search import aws_search_from_settings, lambda_vpc_searcher
from opencrab.bootstrap.aws.search_indexer import lambda_search_indexer
from opencrab.bootstrap.vectors import are_vectors_configured, configured_vectors
from opencrab.domain.errors import Invalid
from opencrab.engine.memory.embedding import EmbeddingModels
from opencrab.ports.agents import Agents
from opencrab.ports.turn.journal import Journal
from opencrab.settings import Settings
from tests.unit.bootstrap.aws.test_functions import LAMBDA, PLACES
from tests.unit.gateways.function import own_log

ON = {"OPENCRAB_SEARCH__VECTORS": "true"}
LOADED = """
import sys
import opencrab.adapters.sqlite_search.search, opencrab.bootstrap.local.search
from opencrab import settings
from opencrab.bootstrap.vectors import configured_vectors
assert configured_vectors(settings.load_settings({}, {}), None, None, None, None) is None
print(*(name for name in sys.modules if name.startswith("opencrab.")))
"""


def given(**variables: str) -> Settings:
    return settings.load_settings({}, variables)


def made(configured: Settings) -> Vectors | None:
    journal, agents = cast(Journal, object()), cast(Agents, object())
    return configured_vectors(
        configured, journal, agents, cast(EmbeddingModels, object()), SystemClock()
    )


def test_vectors_are_off_unless_somebody_wants_them() -> None:
    assert not are_vectors_configured(given())
    assert made(given()) is None
    assert isinstance(made(given(**ON)), Vectors)


@pytest.mark.parametrize("backend", ["opensearch", "efs"])
def test_a_backend_that_cannot_have_them_is_refused(backend: str) -> None:
    both = given(**ON, OPENCRAB_SEARCH__BACKEND=backend)
    with pytest.raises(
        Invalid, match=f"is not supported with search.backend '{backend}'"
    ) as caught:
        are_vectors_configured(both)
    assert caught.value.field == "search.vectors"
    assert not are_vectors_configured(given(OPENCRAB_SEARCH__BACKEND=backend))


def test_without_them_nothing_of_them_is_loaded() -> None:
    run = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(run.stdout.split())
    assert "opencrab.adapters.sqlite_search.query" in loaded
    assert not loaded & {
        "opencrab.adapters.sqlite_search.vectors",
        "opencrab.domain.text.vectors",
        "opencrab.engine.memory.embedding",
    }


@pytest.mark.parametrize("backend", ["opensearch", "efs"])
def test_on_aws_a_backend_that_cannot_have_them_is_refused_by_every_function(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {**LAMBDA, **PLACES, **ON, "OPENCRAB_SEARCH__BACKEND": backend}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with own_log():
        for begin in (
            lambda: aws_search_from_settings(settings.load_settings({}), SystemClock()),
            lambda_search_indexer,
            lambda_vpc_searcher,
        ):
            with pytest.raises(Invalid, match=r"search\.vectors is not supported with") as caught:
                begin()
            assert caught.value.field == "search.vectors"
