"""A house beside a Slack of our own: people write there, and the real handlers answer.

Calls of Slack's methods and of the door are points, too.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from opencrab.adapters.slack.channel import SlackChannel
from opencrab.adapters.slack.client import SlackClient
from opencrab.adapters.slack.link import SlackLink
from opencrab.bootstrap.channels.interactions import handle_queued_interaction
from opencrab.bootstrap.channels.own_door import build_channel_door
from opencrab.domain.chat.people import SLACK, ChatPeople
from opencrab.domain.conversation.message import Utterance
from opencrab.engine.runtime import Rules
from opencrab.gateways.door.request import SignedRequest
from opencrab.gateways.door.slack import SECRET as SECRET_NAME
from opencrab.ports.conversation.chat_link import Chat
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.contract.homes import OpenHome
from tests.crash.errand import RICH
from tests.crash.scheduling import Killed
from tests.e2e.troubled_house import Pointed, TroubledHouse
from tests.slack.fake import OWNER, SECRET, TOKEN, FakeSlack

_REDELIVERIES, _BETWEEN = 3, 60
"""How often Slack sends a request again, and after which seconds at most."""


class OneSlackToken:
    """The bot's token."""

    def token(self) -> str:
        """There is only one."""
        return TOKEN

    def forget(self) -> None:
        """It never changes."""


class SlackHouse(TroubledHouse):
    """A house with an owner and strangers on Slack; `people` says who answers whom."""

    def __init__(self, opens: OpenHome, folder: Path, rules: Rules = RICH) -> None:
        super().__init__(opens, folder, rules)
        self.people = ChatPeople(owner_ids=(OWNER,))
        self.slack = FakeSlack(self.clock, self._at_the_door)
        self.begin()

    def begin(self) -> None:
        """A new process; what an earlier one knew is forgotten."""
        super().begin()
        client = SlackClient(self.slack.connect, "https://slack.test/api", OneSlackToken())
        api = cast(SlackClient, Pointed(client, "slack", self))
        channel = self.spoil(SlackChannel(api))
        chat = Chat(self.people, SlackLink(api), lambda: SECRET, SECRET_NAME)
        self.runtime = replace(
            self.runtime, channels={**self.runtime.channels, SLACK: channel}, chats={SLACK: chat}
        )
        self.door = build_channel_door(
            self.runtime, {SLACK}, {SECRET_NAME: SECRET}.get, lambda: None
        )

    @property
    def vendor(self) -> FakeSlack:
        """What people see and do."""
        return self.slack

    def person_and_room(self, number: int, *, group: bool) -> tuple[str, str]:
        """A person whom nobody met before, and the room in which they write."""
        asker = f"U{number:08X}"
        return asker, f"C{number:08X}" if group else f"D{asker}"

    def ask(self, text: str, asker: str, group: str | None) -> None:
        """Somebody writes, and Slack sends it until it is taken."""
        self.hear(self.slack.says(text, asker, channel=group))

    def is_harmless(self, utterance: Utterance, since: datetime, began: datetime) -> bool:
        """Whether a repeat would be seen once: never, as Slack knows no keys."""
        return not utterance.text or since < began

    def name_agent(self, agent_id: str) -> None:
        """Let this agent answer on Slack."""
        self.people = self.people.replaced(agent=agent_id)
        self.begin()

    def interact(self, delivery: Delivery) -> MessageOutcome:
        return handle_queued_interaction(self.runtime, delivery)

    def hear(self, status: int) -> None:
        """Let Slack send its newest request again while it is not taken."""
        for _ in range(_REDELIVERIES):
            if status == 200:
                return
            self.clock.advance(_BETWEEN)
            status = self.slack.send_again()
        self.problems.append("Slack gave up")

    def _at_the_door(self, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        now = self.clock.now().timestamp()
        try:
            answer = self.door.answer(SignedRequest(SLACK, "", headers, body, now))
        except Killed:
            self.begin()
            return 500, None
        return answer.status, answer.body
