"""A house beside a LINE of our own: people write there, and the real handlers answer.

Calls of LINE's API and of the door are points, too.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import cast

from opencrab.adapters.line.channel import RETRY_KEY_KNOWN, LineChannel
from opencrab.adapters.line.client import LineClient
from opencrab.adapters.line.link import LineLink
from opencrab.bootstrap.channels.interactions import handle_queued_interaction
from opencrab.bootstrap.channels.own_door import build_channel_door
from opencrab.domain.chat.event import TOKEN_SURE
from opencrab.domain.chat.people import LINE, ChatPeople
from opencrab.domain.conversation.message import Utterance
from opencrab.engine.runtime import Rules
from opencrab.gateways.door.line import SECRET as SECRET_NAME
from opencrab.gateways.door.request import SignedRequest
from opencrab.ports.conversation.chat_link import Chat, ChatLink
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.contract.homes import OpenHome
from tests.crash.errand import RICH
from tests.crash.scheduling import Killed
from tests.e2e.troubled_house import Pointed, TroubledHouse
from tests.line.fake import OWNER, SECRET, TOKEN, FakeLine

_REDELIVERIES, _BETWEEN = 3, 60
"""How often LINE sends a request again that was not answered with 200, and after which seconds."""


class OneLineToken:
    """The channel access token."""

    def token(self) -> str:
        """There is only one."""
        return TOKEN

    def forget(self) -> None:
        """It never changes."""


class LineHouse(TroubledHouse):
    """A house with an owner and strangers on LINE; `people` says who answers whom."""

    def __init__(self, opens: OpenHome, folder: Path, rules: Rules = RICH) -> None:
        super().__init__(opens, folder, rules)
        self.people = ChatPeople(owner_ids=(OWNER,))
        self.line = FakeLine(self.clock, self._at_the_door)
        self.begin()

    def begin(self) -> None:
        """A new process; what an earlier one knew is forgotten."""
        super().begin()
        client = LineClient(self.line.connect, "https://line.test", OneLineToken())
        api = cast(LineClient, Pointed(client, "line", self))
        channel = self.spoil(LineChannel(api, self.runtime.home.facts, self.clock))
        service = cast(ChatLink, LineLink(api))
        self.runtime = replace(
            self.runtime,
            channels={**self.runtime.channels, LINE: channel},
            chats={LINE: Chat(self.people, service, lambda: SECRET, SECRET_NAME)},
        )
        secrets = {SECRET_NAME: SECRET}
        self.door = build_channel_door(self.runtime, {LINE}, secrets.get, lambda: None)

    @property
    def vendor(self) -> FakeLine:
        """What people see and do."""
        return self.line

    def person_and_room(self, number: int, *, group: bool) -> tuple[str, str]:
        """A person whom nobody met before, and the room in which they write."""
        asker = f"U{number:032x}"
        self.line.quota = None
        return asker, f"C{number:032x}" if group else asker

    def ask(self, text: str, asker: str, group: str | None) -> None:
        """Somebody writes, and LINE sends it until it is taken."""
        self.hear(self.line.says(text, asker, group=group))

    def is_harmless(self, utterance: Utterance, since: datetime, began: datetime) -> bool:
        """Whether a repeat would be seen once: a token works once, a retry key counts once."""
        now, ends = utterance.updated_at, began + TOKEN_SURE
        if not utterance.opens or utterance.piece:
            return now - since < RETRY_KEY_KNOWN
        return since >= ends or now < ends

    def name_agent(self, agent_id: str) -> None:
        """Let this agent answer on LINE."""
        self.people = self.people.replaced(agent=agent_id)
        self.begin()

    def interact(self, delivery: Delivery) -> MessageOutcome:
        return handle_queued_interaction(self.runtime, delivery)

    def hear(self, status: int) -> None:
        """Let LINE send its newest request again while it is not taken."""
        for _ in range(_REDELIVERIES):
            if status == 200:
                return
            self.clock.advance(_BETWEEN)
            status = self.line.send_again()
        self.problems.append("LINE gave up")

    def _at_the_door(self, headers: Mapping[str, str], body: bytes) -> int:
        now = self.clock.now().timestamp()
        try:
            return self.door.answer(SignedRequest(LINE, "", headers, body, now)).status
        except Killed:
            self.begin()
            return 500
