"""An installation with a recording Discord, to which interactions come as the door queues them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from opencrab.domain.agents.agent import Agent
from opencrab.domain.conversation.message import Channel as Place
from opencrab.domain.conversation.message import Line, Utterance
from opencrab.domain.conversation.session import Session
from opencrab.domain.discord.community import KIND, Community, Presence, Spot
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language
from opencrab.engine.conversation.channel_bindings import conversation_bound_to_channel
from opencrab.engine.conversation.delivery import deliver_session_utterance
from opencrab.engine.discord.presence import set_agent_discord_presence
from opencrab.engine.runtime import Rules, Runtime
from opencrab.gateways.discord.interactions.worker import handle_interaction
from opencrab.ports.conversation.channel import Panel
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.contract.homes import HOMES, OpenHome
from tests.crash.outside import Reply, Script
from tests.discord.recording import CHANNEL, TARO, Door, RecordingDiscord
from tests.e2e.house import START, House

ANSWER: Script = (Reply(text="はい、元気です。"),)
GUEST = "809850198683418695"
USER_ROLE = "539082325061836999"


class Room:
    """The channel of kind `discord`: it keeps what agents said and what panels showed."""

    def __init__(self) -> None:
        self.heard: list[Utterance] = []
        self.panels: list[tuple[Place, Panel]] = []

    def piece_count(self, utterance: Utterance) -> int:
        return 1

    def is_idempotent(self, utterance: Utterance) -> bool:
        return True

    def send(self, utterance: Utterance) -> None:
        self.heard.append(utterance)

    def show(self, place: Place, panel: Panel) -> None:
        self.panels.append((place, panel))


class Stage:
    """A house in which Taro is the owner, and whoever has the role is a user."""

    def __init__(self, opens: OpenHome, folder: Path, rules: Rules | None = None) -> None:
        self.house = House(opens, folder, rules)
        self.discord, self.room, self.door = RecordingDiscord(), Room(), Door(START)
        self.house.runtime = replace(
            self.house.runtime,
            discord=self.discord,
            community=Community(owner_ids=(TARO,), role_ids=(USER_ROLE,)),
            channels={KIND: self.room},
        )

    @property
    def runtime(self) -> Runtime:
        return self.house.runtime

    def replaced(self, **changes: Any) -> Runtime:
        """The installation with something changed about it."""
        return replace(self.runtime, **changes)

    def agent(
        self, name: str = "crab", script: Script = ANSWER, language: Language = Language.JA
    ) -> Agent:
        return self.house.agent(name, script, language)

    def place(self, agent_id: str, *channels: str, **more: Any) -> None:
        """Let an agent take part in these channels only."""
        spots = tuple(Spot(channel_id=each) for each in channels or (CHANNEL,))
        set_agent_discord_presence(
            self.runtime.home, Presence(agent_id=agent_id, **({"spots": spots} | more))
        )

    def does(self, raw: dict[str, Any], *, count: int = 1) -> MessageOutcome:
        """Let one delivery of an interaction be handled."""
        return handle_interaction(self.runtime, self.delivery(raw, count))

    def delivery(self, raw: dict[str, Any], count: int = 1) -> Delivery:
        """A delivery that a worker holds, taken out of the queue."""
        queue = self.house.home.interactions
        assert queue is not None
        body = json.dumps(raw, ensure_ascii=False)
        queue.send(body, group=CHANNEL, deduplication=self.house.clock.new_id())
        taken = queue.receive(visibility_seconds=60, wait_seconds=0)
        assert taken is not None
        queue.acknowledge(taken.receipt)
        return replace(taken, count=count)

    def works(self) -> None:
        """Let turns run and speech be delivered."""
        self.house.work()

    def delivers(self) -> None:
        """Let speech and panels be delivered, and no turn run."""
        queue = self.house.home.deliveries
        while taken := queue.receive(visibility_seconds=60, wait_seconds=0):
            deliver_session_utterance(self.runtime, taken)
            queue.acknowledge(taken.receipt)

    def session(self, channel: str = CHANNEL) -> Session | None:
        return conversation_bound_to_channel(self.runtime.home, f"{KIND}.{channel}")

    def lines(self) -> list[Line]:
        """What was said in the channel's session."""
        session = self.session()
        assert session is not None
        return list(self.house.home.journal.lines(session.id, limit=100))

    @property
    def said(self) -> list[str]:
        """What agents said into the channel."""
        return [each.text for each in self.room.heard]

    @property
    def texts(self) -> list[str]:
        return self.discord.texts

    def turn_of(self, utterance: Utterance) -> Turn:
        return self.house.turn(utterance.turn_id)


@contextmanager
def staged(folder: Path, opens: OpenHome = HOMES[0], rules: Rules | None = None) -> Iterator[Stage]:
    """A stage, taken down at the end."""
    stage = Stage(opens, folder, rules)
    try:
        yield stage
    finally:
        stage.house.close()
