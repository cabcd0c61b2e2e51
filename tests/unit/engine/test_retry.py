"""What somebody else's write came between is done again, a bounded number of times."""

import pytest

from opencrab.domain.errors import Changed
from opencrab.engine.retry import retry_after_changes


@pytest.mark.parametrize(("changes", "is_done"), [(0, True), (2, True), (3, False)])
def test_only_so_many_changes_are_outlasted(changes: int, *, is_done: bool) -> None:
    done = list[int]()

    def act() -> int:
        done.append(len(done))
        if len(done) <= changes:
            raise Changed("somebody was faster")
        return done[-1]

    if is_done:
        assert retry_after_changes(act, tries=3) == changes
    else:
        with pytest.raises(Changed):
            retry_after_changes(act, tries=3)
    assert len(done) == min(changes + 1, 3)
