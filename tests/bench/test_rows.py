"""A line of docs/benchmarks.md says whether its target is met."""

import pytest

from tests.bench.rows import Row
from tests.bench.run import last_table


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        (Row("a turn", 14.62, "ms"), "| a turn | 14.6 ms | | |"),
        (Row("a turn", 9.5, "× floor", 9), "| a turn | 9.5 × floor | ≤ 9 | **no** |"),
        (Row("a turn", 9.0, "× floor", 9), "| a turn | 9 × floor | ≤ 9 | yes |"),
        (Row("rate", 71, "turns/s", 70, at_least=True), "| rate | 71 turns/s | ≥ 70 | yes |"),
        (Row("rate", 69, "turns/s", 70, at_least=True), "| rate | 69 turns/s | ≥ 70 | **no** |"),
        (Row("bytes", 8946, "B", 8_000), "| bytes | 8,946 B | ≤ 8,000 | **no** |"),
        (Row("calls", 17, ""), "| calls | 17 | | |"),
    ],
)
def test_a_row_says_whether_its_target_is_met(row: Row, shown: str) -> None:
    assert str(row) == shown


def test_what_cannot_be_measured_here_keeps_the_table_that_the_page_has() -> None:
    page = "## AWS\n\n### Init\n\nwords\n\n| a |\n|---|\n| 1 |\n\n### The door\n\n| b |\n"
    assert last_table(page, "Init") == "| a |\n|---|\n| 1 |"
    assert last_table(page, "Nothing") == ""
