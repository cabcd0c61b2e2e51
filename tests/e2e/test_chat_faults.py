"""What lies between a message on a chat service and its answer killed, doubled, delayed: seen once.

`make soak` plays every trouble at every point; `make test` a share.
"""

from collections.abc import Iterator

import pytest

from opencrab.adapters.email.channel import EmailChannel
from opencrab.adapters.line.channel import LineChannel
from opencrab.adapters.slack.channel import SlackChannel
from opencrab.adapters.telegram.channel import TelegramChannel
from opencrab.engine.approvals.approvals import open_or_decided_approvals
from tests.contract.homes import HOMES
from tests.e2e.chat_plays import CHAT_SCENES, ChatScene, ChatStage
from tests.e2e.email_house import EmailHouse
from tests.e2e.line_house import LineHouse
from tests.e2e.slack_house import SlackHouse
from tests.e2e.telegram_house import TelegramHouse
from tests.e2e.test_discord_faults import Spoilt
from tests.e2e.troubles import listed_plays
from tests.soak import SOAK

SHARE = 6


@pytest.fixture(
    scope="module",
    params=[EmailHouse, LineHouse, SlackHouse, TelegramHouse],
    ids=lambda house: house.kind,
)
def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ChatStage]:
    """One installation for all plays of a service."""
    stage = ChatStage(request.param, HOMES[0], tmp_path_factory.mktemp("chat"))
    yield stage
    stage.house.close()


@pytest.mark.timeout(7_200 if SOAK else 120)
@pytest.mark.parametrize("scene", CHAT_SCENES, ids=lambda scene: scene.name)
def test_nothing_is_lost_and_nothing_is_seen_twice(stage: ChatStage, scene: ChatScene) -> None:
    points = len(stage.plain(scene))
    name = f"{type(stage.house).__name__} {scene.name}"
    listed = listed_plays(name, points, stage.requests[scene.name], SHARE)
    found = {
        f"{kind} {at}": wrong for kind, at in listed if (wrong := stage.perform(scene, kind, at))
    }
    assert found == {}


@pytest.mark.parametrize("scene", CHAT_SCENES, ids=lambda scene: scene.name)
def test_messages_that_come_again_change_nothing(stage: ChatStage, scene: ChatScene) -> None:
    assert stage.perform(scene, "again", 0) == []


def test_a_question_that_nobody_decided_is_not_left_to_the_next_play(stage: ChatStage) -> None:
    (scene,) = (each for each in CHAT_SCENES if each.name == "button")
    asking = stage.plain(scene).index("outbox.mark") + 1
    for at in range(asking, asking + 4):
        assert stage.perform(scene, "kill", at) == []
    assert open_or_decided_approvals(stage.house.home.facts, decided=False) == ()


@pytest.mark.parametrize(
    ("scene", "spoilt", "told"),
    [
        ("late", {"repeatable": False}, "marked in vain"),
        ("ask", {"repeatable": True, "deaf": True}, "lost"),
    ],
)
def test_a_channel_with_a_fault_is_found_out(
    stage: ChatStage, scene: str, spoilt: dict[str, bool], told: str
) -> None:
    if told == "marked in vain" and not isinstance(stage.house, LineHouse):
        spoilt, told = {"repeatable": True}, "twice"
    house = stage.house
    house.spoil = lambda channel: Spoilt(channel, **spoilt)
    house.begin()
    try:
        (chosen,) = (each for each in CHAT_SCENES if each.name == scene)
        wrong = stage.perform(chosen, "odd", 2)
    finally:
        house.spoil = lambda channel: channel
        house.begin()
    assert any(told in each for each in wrong), wrong


def test_a_house_speaks_through_the_channel_of_the_product(stage: ChatStage) -> None:
    (kind,) = stage.house.runtime.chats
    channels = (EmailChannel, LineChannel, SlackChannel, TelegramChannel)
    expected = dict(zip(("email", "line", "slack", "telegram"), channels, strict=True))[kind]
    assert isinstance(stage.house.runtime.channels[kind], expected)
