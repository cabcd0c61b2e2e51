"""What lies between a message on LINE and its answer killed, doubled, delayed: seen once.

`make soak` plays every trouble at every point; `make test` a share.
"""

from collections.abc import Iterator

import pytest

from opencrab.adapters.line.channel import LineChannel
from tests.contract.homes import HOMES
from tests.e2e.line_plays import LINE_SCENES, LineScene, LineStage
from tests.e2e.test_discord_faults import Spoilt
from tests.e2e.troubles import listed_plays
from tests.soak import SOAK

SHARE = 10


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LineStage]:
    """One installation for all plays."""
    stage = LineStage(HOMES[0], tmp_path_factory.mktemp("line"))
    yield stage
    stage.house.close()


@pytest.mark.timeout(7_200 if SOAK else 120)
@pytest.mark.parametrize("scene", LINE_SCENES, ids=lambda scene: scene.name)
def test_nothing_is_lost_and_nothing_is_seen_twice(stage: LineStage, scene: LineScene) -> None:
    points = len(stage.plain(scene))
    listed = listed_plays(f"line {scene.name}", points, stage.requests[scene.name], SHARE)
    found = {
        f"{kind} {at}": wrong for kind, at in listed if (wrong := stage.perform(scene, kind, at))
    }
    assert found == {}


@pytest.mark.parametrize("scene", LINE_SCENES, ids=lambda scene: scene.name)
def test_messages_that_come_again_change_nothing(stage: LineStage, scene: LineScene) -> None:
    assert stage.perform(scene, "again", 0) == []


@pytest.mark.parametrize(
    ("scene", "at", "spoilt", "told"),
    [
        ("late", 2, {"repeatable": False}, "marked in vain"),
        ("ask", 2, {"repeatable": True, "deaf": True}, "lost"),
    ],
)
def test_a_channel_with_a_fault_is_found_out(
    stage: LineStage, scene: str, at: int, spoilt: dict[str, bool], told: str
) -> None:
    house = stage.house
    house.spoil = lambda channel: Spoilt(channel, **spoilt)
    house.begin()
    try:
        (chosen,) = (each for each in LINE_SCENES if each.name == scene)
        wrong = stage.perform(chosen, "odd", at)
    finally:
        house.spoil = lambda channel: channel
        house.begin()
    assert any(told in each for each in wrong), wrong


def test_a_house_speaks_through_the_channel_of_the_product(stage: LineStage) -> None:
    assert isinstance(stage.house.runtime.channels["line"], LineChannel)
