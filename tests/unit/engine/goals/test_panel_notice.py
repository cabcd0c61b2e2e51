"""That an instruction has come further is told once for each change, and harms nothing."""

from dataclasses import replace
from typing import Any

import pytest

from opencrab.domain.conversation.message import ATTEMPTS, Channel, Utterance
from opencrab.domain.errors import NeverSent, OpenCrabError, Refused, Unavailable
from opencrab.domain.value import Language
from opencrab.engine.conversation.delivery import deliver_session_utterance
from opencrab.engine.goals import instructions
from opencrab.engine.goals.panel_notice import PANEL, queue_goal_progress_panel
from opencrab.engine.runtime import Runtime
from opencrab.ports.conversation.channel import Panel
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.unit.engine.goals.test_progress import ASKER
from tests.unit.engine.known_world import World

PLACE = Channel(kind="page", address="1/2")


class Frame:
    """A channel that shows panels, or says why not."""

    def __init__(self, error: OpenCrabError | None = None) -> None:
        self.error = error
        self.shown: list[tuple[Channel, Panel]] = []

    def piece_count(self, utterance: Utterance) -> int:
        return 1

    def is_idempotent(self, utterance: Utterance) -> bool:
        return True

    def send(self, utterance: Utterance) -> None:
        raise AssertionError("nobody spoke")

    def show(self, place: Channel, panel: Panel) -> None:
        if self.error is not None:
            raise self.error
        self.shown.append((place, panel))


def waiting(world: World) -> list[Delivery]:
    """The messages that wait for delivery now."""
    queue, found = world.runtime.home.deliveries, list[Delivery]()
    while (delivery := queue.receive(visibility_seconds=60, wait_seconds=0)) is not None:
        found.append(delivery)
        queue.acknowledge(delivery.receipt)
    return found


def given(world: World, frame: Frame | None, agent_id: str = "ken") -> str:
    """An instruction, given where it is shown how far it comes."""
    channels: Any = {} if frame is None else {"page": frame}
    world.runtime = replace(world.runtime, channels=channels)
    asked = instructions.NewInstruction(instruction="ノートを整理して")
    asker = replace(ASKER, channel=PLACE)
    return instructions.start_instruction_as_goal(world.runtime, agent_id, asked, asker, key="k").id


def message(goal: str, agent_id: str = "ken", count: int = 1) -> Delivery:
    return Delivery(f'{{"panel":{{"agent":"{agent_id}","goal":"{goal}"}}}}', "g", "r", count)


def test_the_same_change_is_one_message_and_another_is_another(world: World) -> None:
    for key in ("1", "1", "2"):
        queue_goal_progress_panel(world.runtime.home.deliveries, PLACE, "ken", "G1", key=key)
    found = waiting(world)
    assert [each.body for each in found] == [message("G1").body] * 2
    assert all(each.body.startswith(PANEL) for each in found)


def test_where_nobody_sees_it_nothing_is_told(world: World) -> None:
    queue_goal_progress_panel(world.runtime.home.deliveries, None, "ken", "G1", key="1")
    assert waiting(world) == []


def test_a_queue_that_does_not_answer_loses_nothing_that_is_stored(world: World) -> None:
    queue_goal_progress_panel(unanswered(world).home.deliveries, PLACE, "ken", "G1", key="1")


def test_who_waits_for_a_panel_hears_of_a_queue_that_does_not_answer(world: World) -> None:
    with pytest.raises(Unavailable):
        queue_goal_progress_panel(
            unanswered(world).home.deliveries, PLACE, "ken", "G1", key="1", surely=True
        )


def unanswered(world: World) -> Runtime:
    """The installation while its queue of deliveries does not answer."""

    class Silent:
        def send(self, body: str, *, group: str, deduplication: str) -> None:
            raise Unavailable("the queue does not answer")

    deliveries: Any = Silent()
    home = replace(world.runtime.home, deliveries=deliveries)
    return replace(world.runtime, home=home)


def test_speech_is_no_panel() -> None:
    assert not "discord:1/2\nturn#0000".startswith(PANEL)


@pytest.mark.parametrize(
    ("agent_id", "name", "language"), [("ken", "Ken", Language.EN), ("mika", "美香", Language.JA)]
)
def test_a_panel_tells_what_holds_when_it_is_shown(
    world: World, agent_id: str, name: str, language: Language
) -> None:
    frame = Frame()
    goal = given(world, frame, agent_id)
    assert (
        deliver_session_utterance(world.runtime, message(goal, agent_id)) is MessageOutcome.FINISHED
    )
    ((place, panel),) = frame.shown
    assert place == PLACE
    assert (panel.agent_id, panel.agent_name, panel.language) == (agent_id, name, language)
    assert (panel.goal, panel.name, panel.over) == (goal, "ノートを整理して", False)
    assert panel.standing in {"pending", "active"}


def test_a_panel_of_what_is_gone_or_nowhere_to_be_seen_is_done(world: World) -> None:
    goal = given(world, None)
    for told in (message(goal), message("G99"), message(goal, "nobody")):
        assert deliver_session_utterance(world.runtime, told) is MessageOutcome.FINISHED


@pytest.mark.parametrize("error", [Unavailable("no answer"), NeverSent("no line")])
def test_a_panel_is_tried_again_but_not_for_ever(world: World, error: OpenCrabError) -> None:
    goal = given(world, Frame(error))
    assert deliver_session_utterance(world.runtime, message(goal)) is MessageOutcome.CONTINUE
    assert (
        deliver_session_utterance(world.runtime, message(goal, count=ATTEMPTS))
        is MessageOutcome.FINISHED
    )


def test_a_panel_that_may_not_be_shown_is_let_be(world: World) -> None:
    goal = given(world, Frame(Refused("the bot may not")))
    assert deliver_session_utterance(world.runtime, message(goal)) is MessageOutcome.FINISHED
