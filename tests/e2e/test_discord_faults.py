"""Everything between an interaction and its answer killed, doubled, delayed: once seen, or marked.

`make soak` plays every trouble at every point; `make test` a share.
"""

from collections.abc import Iterator

import pytest

from opencrab.adapters.discord.channel import DiscordChannel
from opencrab.domain.conversation.message import Utterance
from opencrab.ports.conversation.channel import DeliveryChannel
from tests.contract.homes import HOMES
from tests.e2e.discord_ends import Scene
from tests.e2e.discord_plays import SCENES, Stage
from tests.e2e.troubles import listed_plays
from tests.soak import SOAK

SHARE, LONG_SHARE = 20, 3
"""Plays of each scene, and of one that takes long, for those who do not ask for everything."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One installation for all plays."""
    stage = Stage(HOMES[0], tmp_path_factory.mktemp("stage"))
    yield stage
    stage.house.close()


def plays(stage: Stage, scene: Scene) -> list[tuple[str, int]]:
    """All plays of a scene, or a share of them."""
    points = len(stage.plain(scene))
    share = LONG_SHARE if scene.command == "task" else SHARE
    return listed_plays(scene.name, points, stage.requests[scene.name], share)


@pytest.mark.timeout(7_200 if SOAK else 120)
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_nothing_is_lost_and_nothing_is_seen_twice(stage: Stage, scene: Scene) -> None:
    listed = plays(stage, scene)
    found = {
        f"{kind} {at}": wrong for kind, at in listed if (wrong := stage.perform(scene, kind, at))
    }
    assert found == {}


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_messages_that_come_again_change_nothing(stage: Stage, scene: Scene) -> None:
    assert stage.perform(scene, "again", 0) == []


class Spoilt:
    """A channel with a fault of its own."""

    def __init__(self, channel: DeliveryChannel, *, repeatable: bool, deaf: bool = False) -> None:
        self._channel = channel
        self._repeatable = repeatable
        self._deaf = deaf
        self.piece_count, self.show = channel.piece_count, channel.show

    def is_idempotent(self, utterance: Utterance) -> bool:
        return self._repeatable

    def send(self, utterance: Utterance) -> None:
        if not self._deaf:
            self._channel.send(utterance)


@pytest.mark.parametrize(
    ("scene", "at", "spoilt", "told"),
    [
        ("guest", 3, {"repeatable": True}, "twice"),
        ("ask", 2, {"repeatable": False}, "marked in vain"),
        ("ask", 2, {"repeatable": True, "deaf": True}, "lost"),
    ],
)
def test_a_channel_with_a_fault_is_found_out(
    stage: Stage, scene: str, at: int, spoilt: dict[str, bool], told: str
) -> None:
    house = stage.house
    house.spoil = lambda channel: Spoilt(channel, **spoilt)
    house.begin()
    try:
        (chosen,) = (each for each in SCENES if each.name == scene)
        wrong = stage.perform(chosen, "odd", at)
    finally:
        house.spoil = lambda channel: channel
        house.begin()
    assert any(told in each for each in wrong), wrong


def test_a_house_speaks_through_the_channel_of_the_product(stage: Stage) -> None:
    assert isinstance(stage.house.runtime.channels["discord"], DiscordChannel)
