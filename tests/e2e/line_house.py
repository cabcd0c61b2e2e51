"""A house beside a LINE of our own: people write there, and the real handlers answer."""

from datetime import datetime
from typing import cast

from opencrab.adapters.chat.files import FilesWithToken
from opencrab.adapters.line.channel import RETRY_KEY_KNOWN, LineChannel
from opencrab.adapters.line.client import LineClient
from opencrab.adapters.line.files import LineFiles
from opencrab.adapters.line.link import LineLink
from opencrab.domain.chat.event import TOKEN_SURE
from opencrab.domain.chat.people import LINE
from opencrab.domain.conversation.message import Utterance
from opencrab.gateways.door.line import SECRET as SECRET_NAME
from opencrab.ports.conversation.channel import DeliveryChannel
from opencrab.ports.conversation.chat_link import ChatLink
from tests.e2e.chat_house import ChatHouse, OneToken
from tests.e2e.troubled_house import Pointed
from tests.line.fake import CONTENT, OWNER, SECRET, TOKEN, FakeLine
from tests.unit.adapters.web.net import Net


class LineHouse(ChatHouse):
    """A house with an owner and strangers on LINE."""

    kind = LINE
    secret_name, secret, owner = SECRET_NAME, SECRET, OWNER
    vendor: FakeLine
    has_words_with_files = False

    def opened(self) -> FakeLine:
        return FakeLine(self.clock, lambda headers, body: self.at_the_door(headers, body).status)

    def connected(self) -> tuple[DeliveryChannel, ChatLink]:
        token = OneToken(TOKEN)
        client = LineClient(self.vendor.connect, "https://api.line.example.org", token)
        api = cast(LineClient, Pointed(client, self.kind, self))
        self.net = Net(self.vendor.download)
        source = FilesWithToken(self.net.files(CONTENT), token)
        self.sources[self.kind] = LineFiles(source, CONTENT)
        return LineChannel(api, self.runtime.home.facts, self.clock), LineLink(api)

    def person_and_room(self, number: int, *, group: bool) -> tuple[str, str]:
        asker = f"U{number:032x}"
        self.vendor.quota = None
        return asker, f"C{number:032x}" if group else asker

    def ask(
        self, text: str, asker: str, group: str | None, file: tuple[str, bytes] | None = None
    ) -> None:
        """Somebody writes, or sends a file, which has no words on LINE."""
        if file is None:
            self.hear(self.vendor.says(text, asker, group=group))
        else:
            self.hear(self.vendor.attaches(*file, asker, group=group))

    def is_harmless(self, utterance: Utterance, since: datetime, began: datetime) -> bool:
        """Whether a repeat would be seen once: a token works once, a retry key counts once."""
        now, ends = utterance.updated_at, began + TOKEN_SURE
        if not utterance.opens or utterance.piece:
            return now - since < RETRY_KEY_KNOWN
        return since >= ends or now < ends
