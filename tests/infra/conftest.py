"""The desk that every test of `make deploy` sits at."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.infra.desk import Desk, environ, sts


@pytest.fixture(scope="session")
def sts_url() -> Iterator[str]:
    """An STS of our own: nothing here talks to AWS."""
    with sts() as url:
        yield url


@pytest.fixture
def desk(tmp_path: Path, sts_url: str) -> Desk:
    """A desk with credentials and a region."""
    desk = Desk(tmp_path, environ(tmp_path, sts_url))
    desk.arrange()
    return desk
