"""The pages that teach print what happens; `python -m tests.docs.tutorials` shows more of it."""

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.forked_command import forked_command
from tests.docs.tutorials import PAGES, follow


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_prints_what_happens(page: Path, tmp_path: Path) -> None:
    with forked_command() as environment:
        reader = follow(page, tmp_path, more=environment)
    assert not reader.differences, "\n\n".join(reader.differences)
