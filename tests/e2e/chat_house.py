"""What the houses of all chat services share: a door, people, and events that come again.

A house has a service of its own kind. Calls of its API and of the door are points, too.
"""

from abc import abstractmethod
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from opencrab.bootstrap.channels.interactions import handle_queued_interaction
from opencrab.bootstrap.channels.own_door import build_channel_door
from opencrab.domain.chat.people import ChatPeople
from opencrab.domain.conversation.message import Utterance
from opencrab.engine.runtime import Rules
from opencrab.gateways.door.door import SignedRequestAnswer
from opencrab.gateways.door.request import SignedRequest
from opencrab.ports.conversation.channel import DeliveryChannel
from opencrab.ports.conversation.chat_link import Chat, ChatLink
from opencrab.ports.conversation.file_source import FileSource
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.contract.homes import OpenHome
from tests.crash.errand import RICH
from tests.crash.scheduling import Killed
from tests.e2e.troubled_house import Pointed, TroubledHouse

_REDELIVERIES, _BETWEEN = 3, 60
"""How often a service sends an event again that was not taken, and after which seconds."""


class OneToken:
    """A token of which there is only one."""

    def __init__(self, token: str) -> None:
        self._token = token

    def token(self) -> str:
        """There is only one."""
        return self._token

    def forget(self) -> None:
        """It never changes."""


class ChatHouse(TroubledHouse):
    """A house with an owner and strangers on a chat service; `people` says who answers whom."""

    kind = ""
    secret_name, secret, owner = "", "", ""
    has_words_with_files = True

    def __init__(self, opens: OpenHome, folder: Path, rules: Rules = RICH) -> None:
        super().__init__(opens, folder, rules)
        self.people = ChatPeople(owner_ids=(self.owner,))
        self.sources: dict[str, FileSource] = {}
        self.vendor: Any = self.opened()
        self.begin()

    @abstractmethod
    def opened(self) -> Any:
        """The service: what people see and do."""

    @abstractmethod
    def connected(self) -> tuple[DeliveryChannel, ChatLink]:
        """The product's channel and link, whose calls are points."""

    @abstractmethod
    def person_and_room(self, number: int, *, group: bool) -> tuple[str, str]:
        """A person whom nobody met before, and the room in which they write."""

    @abstractmethod
    def ask(
        self, text: str, asker: str, group: str | None, file: tuple[str, bytes] | None = None
    ) -> None:
        """Somebody writes, perhaps with a file, and the service sends it until it is taken."""

    def is_harmless(
        self,
        utterance: Utterance,
        since: datetime,
        began: datetime,
    ) -> bool:
        """Whether a repeat would be seen once: never, where a service knows no keys."""
        return not utterance.text or since < began

    def begin(self) -> None:
        """A new process; what an earlier one knew is forgotten."""
        super().begin()
        channel, link = self.connected()
        source = self.sources.get(self.kind)
        files = None if source is None else cast(FileSource, Pointed(source, "files", self))
        chat = Chat(self.people, link, lambda: self.secret, self.secret_name, files=files)
        channels = {**self.runtime.channels, self.kind: self.spoil(channel)}
        self.runtime = replace(self.runtime, channels=channels, chats={self.kind: chat})
        secrets = {self.secret_name: self.secret}
        self.door = build_channel_door(self.runtime, {self.kind}, secrets.get, lambda: None)

    def name_agent(self, agent_id: str) -> None:
        """Let this agent answer."""
        self.people = self.people.replaced(agent=agent_id)
        self.begin()

    def interact(self, delivery: Delivery) -> MessageOutcome:
        return handle_queued_interaction(self.runtime, delivery)

    def hear(self, status: int) -> None:
        """Let the service send its newest event again while it is not taken."""
        for _ in range(_REDELIVERIES):
            if status == 200:
                return
            self.clock.advance(_BETWEEN)
            status = self.vendor.send_again()
        self.problems.append(f"{self.kind} gave up")

    def at_the_door(self, headers: Any, body: bytes) -> SignedRequestAnswer:
        """Take a request; who dies meanwhile answers 500."""
        now = self.clock.now().timestamp()
        try:
            return self.door.answer(SignedRequest(self.kind, "", headers, body, now))
        except Killed:
            self.begin()
            return SignedRequestAnswer(500)
