"""A house beside a Slack of our own: people write there, and the real handlers answer."""

from typing import cast

from opencrab.adapters.chat.files import FilesWithToken
from opencrab.adapters.slack.channel import SlackChannel
from opencrab.adapters.slack.client import SlackClient
from opencrab.adapters.slack.files import SlackFiles
from opencrab.adapters.slack.link import SlackLink
from opencrab.domain.chat.people import SLACK
from opencrab.gateways.door.slack import SECRET as SECRET_NAME
from opencrab.ports.conversation.channel import DeliveryChannel
from opencrab.ports.conversation.chat_link import ChatLink
from tests.e2e.chat_house import ChatHouse, OneToken
from tests.e2e.troubled_house import Pointed
from tests.slack.fake import FILES, OWNER, SECRET, TOKEN, FakeSlack
from tests.unit.adapters.web.net import Net


class SlackHouse(ChatHouse):
    """A house with an owner and strangers on Slack."""

    kind = SLACK
    secret_name, secret, owner = SECRET_NAME, SECRET, OWNER
    vendor: FakeSlack

    def opened(self) -> FakeSlack:
        return FakeSlack(
            self.clock,
            lambda headers, body: (
                (answer := self.at_the_door(headers, body)).status,
                answer.body,
            ),
        )

    def connected(self) -> tuple[DeliveryChannel, ChatLink]:
        token = OneToken(TOKEN)
        client = SlackClient(self.vendor.connect, "https://slack.example.org/api", token)
        api = cast(SlackClient, Pointed(client, self.kind, self))
        self.net = Net(self.vendor.download)
        source = FilesWithToken(self.net.files(FILES), token)
        self.sources[self.kind] = SlackFiles(source, FILES)
        return SlackChannel(api), SlackLink(api)

    def person_and_room(self, number: int, *, group: bool) -> tuple[str, str]:
        asker = f"U{number:08X}"
        return asker, f"C{number:08X}" if group else f"D{asker}"

    def ask(
        self, text: str, asker: str, group: str | None, file: tuple[str, bytes] | None = None
    ) -> None:
        fields = {"subtype": "file_share", "files": [self.vendor.file(*file)]} if file else {}
        self.hear(self.vendor.says(text, asker, channel=group, **fields))
