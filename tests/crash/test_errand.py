"""An instruction at every step: killed, cancelled, steered, paused, approved, rejected, resumed.

`make soak` plays each of them at every point; `make test` a share.
"""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.homes import HOMES
from tests.crash.errand import Errand
from tests.crash.errands import AT_A_POINT, perform, plain
from tests.soak import SOAK

SHARE, AWS_SHARE = 3, 6
"""Plays of each kind: for those who do not ask for everything, and where each takes seconds."""


@pytest.fixture(
    scope="module",
    params=HOMES if SOAK else HOMES[:1],
    ids=lambda opens: opens.__name__,
)
def errand(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Errand]:
    """One installation for all plays in a home."""
    folder: Path = tmp_path_factory.mktemp("errand")
    errand = Errand(request.param, folder)
    errand.points = len(plain(errand).seen)
    yield errand
    errand.house.close()


def names(kind: str, points: int) -> Iterator[str]:
    """All plays of a kind: at each point, and some with a kill soon after it."""
    if kind == "reject":
        yield from (f"reject:{n}" for n in range(1, 6))
        yield from (f"reject:{n}:{point}" for n in range(1, 6) for point in range(2, points, 11))
        return
    for point in range(1, points + 1):
        if kind == "hurry":
            yield f"hurry:{point}:{point + 1 + point % 13}"
            yield f"hurry:{point}:{point + 4 + point % 5}"
            yield f"hurry:{point}:{point + 20}:{point + 21 + point % 7}"
            continue
        yield f"{kind}:{point}"
        if kind != "sleep":
            yield f"{kind}:{point}:{point + 1 + point % 11}"


@pytest.mark.timeout(3_600 if SOAK else 60)
@pytest.mark.parametrize("kind", AT_A_POINT)
def test_nothing_is_lost_and_nothing_is_repeated(errand: Errand, kind: str) -> None:
    listed = list(names(kind, errand.points))
    if not SOAK:
        listed = random.Random(kind).sample(listed, SHARE)
    elif errand.name == "aws":
        listed = random.Random(kind).sample(listed, AWS_SHARE)
    found = {name: problems for name in listed if (problems := perform(errand, name))}
    if SOAK:
        print(f"{errand.name}: {len(listed)} plays of {kind}, {len(found)} with problems")
    assert found == {}


def test_an_errand_in_which_nothing_happens_thinks_twelve_times(errand: Errand) -> None:
    seen = Counter(plain(errand).seen)
    assert (seen["model.chat"], seen["bell.ring"], seen["files.write"]) == (12, 5, 5)


@pytest.mark.parametrize("paused_at", [6, 40])
def test_a_goal_that_is_resumed_while_its_turn_is_told_to_wait_goes_on(
    errand: Errand, paused_at: int
) -> None:
    assert perform(errand, f"pause:{paused_at}") == []
    told = next(n for n, point in enumerate(errand.trouble.seen, 1) if point == "journal.stop")
    for resumed_at in (told, told + 1):
        for killed_after in (6, 7, 8):
            name = f"hurry:{paused_at}:{resumed_at}:{resumed_at + killed_after}"
            assert perform(errand, name) == []
