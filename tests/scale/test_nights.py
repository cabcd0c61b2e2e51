"""A small share of `make scale`: functions divide a night, and each review is done once."""

from tests.scale.nights import MONDAY, Nightfall


def test_a_night_is_divided_among_functions_and_every_review_is_done_once() -> None:
    night = Nightfall(100, MONDAY).run()
    assert (night.agents_reviewed, len(night.done), night.failed) == (100, 200, 0)
    assert night.calls == 2
    alone = Nightfall(20, MONDAY, is_divided=False).run()
    assert max(night.done) / 100 < 0.7 * max(alone.done) / 20
