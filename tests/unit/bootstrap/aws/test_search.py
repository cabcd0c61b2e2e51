"""Search on AWS: the backend that is set, made only when somebody searches."""

import subprocess
import sys
from pathlib import Path

import pytest

from opencrab import settings
from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap.aws.search import LaterSearch, aws_search_from_settings
from opencrab.domain.errors import Invalid
from opencrab.engine.runtime import NothingToFind
from opencrab.ports.memory.search import IndexStatus, Search, SearchQuery
from tests.unit.bootstrap.aws.test_functions import LAMBDA, PLACES

LOADED = """
import sys
from opencrab.bootstrap.aws.{module} import {maker}
{maker}()
print(*(name for name in sys.modules if name.startswith("opencrab.adapters.")))
"""


def loaded(module: str, maker: str, folder: Path, **more: str) -> set[str]:
    """The adapters that a fresh process has loaded when a function is ready."""
    run = subprocess.run(
        [sys.executable, "-c", LOADED.format(module=module, maker=maker)],
        env={**LAMBDA, **PLACES, **more},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return {name.split(".")[2] for name in run.stdout.split()}


def chosen(**variables: str) -> Search:
    return aws_search_from_settings(settings.load_settings({}, PLACES | variables), SystemClock())


def test_search_is_made_by_the_first_question_and_once() -> None:
    made: list[Search] = []

    def make() -> Search:
        made.append(NothingToFind())
        return made[-1]

    search = LaterSearch(make)
    assert made == []
    assert search.search("mika", SearchQuery("蟹")) == ()
    search.apply_erasures("mika")
    assert search.status("mika") == IndexStatus(backend="none")
    assert len(made) == 1


@pytest.mark.parametrize("maker", ["lambda_turn_worker", "lambda_compaction_worker"])
def test_a_function_that_may_never_search_loads_no_search(maker: str, tmp_path: Path) -> None:
    found = loaded("functions", maker, tmp_path)
    assert "dynamodb" in found
    assert not found & {"sqlite_search", "opensearch", "lambda_search", "past"}


def test_the_indexer_loads_neither_models_nor_queues(tmp_path: Path) -> None:
    found = loaded("search_indexer", "lambda_search_indexer", tmp_path)
    assert "sqlite_search" in found
    assert not found & {"providers", "sqs", "secrets", "web", "opensearch"}


def test_the_function_on_efs_needs_the_table_and_its_folder_only(tmp_path: Path) -> None:
    needless = [name for name in PLACES if not name.endswith(("TABLE", "STAGE"))]
    more = dict.fromkeys(needless, "")
    found = loaded(
        "search", "lambda_vpc_searcher", tmp_path, OPENCRAB_AWS__SEARCH_FOLDER="/efs", **more
    )
    assert {"sqlite_search", "local_files", "lambda_search"} <= found
    assert "s3_files" not in found


def test_efs_without_its_function_says_what_is_missing() -> None:
    with pytest.raises(Invalid, match="OPENCRAB_AWS__SEARCH_FUNCTION"):
        chosen(OPENCRAB_SEARCH__BACKEND="efs")


def test_a_backend_that_does_not_exist_is_refused() -> None:
    with pytest.raises(Invalid, match="elastic") as caught:
        chosen(OPENCRAB_SEARCH__BACKEND="elastic")
    assert caught.value.field == "search.backend"


def test_opensearch_without_its_address_says_what_is_missing() -> None:
    search = chosen(OPENCRAB_SEARCH__BACKEND="opensearch")
    with pytest.raises(Invalid) as caught:
        search.status("mika")
    assert caught.value.field == "search.opensearch_endpoint"
