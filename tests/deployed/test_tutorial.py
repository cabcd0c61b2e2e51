"""The pages whose reader deploys to AWS print what happens; the account is the emulator's."""

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.cloud import why_not
from tests.docs.forked_command import forked_command
from tests.docs.tutorials import DEPLOYING, follow

WHY_NOT = why_not()

pytestmark = [
    pytest.mark.deployed,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT),
]


@pytest.mark.parametrize("page", DEPLOYING, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_that_deploys_prints_what_happens(page: Path, tmp_path: Path) -> None:
    with forked_command() as environment:
        reader = follow(page, tmp_path, more=environment)
    assert not reader.differences, "\n\n".join(reader.differences)
