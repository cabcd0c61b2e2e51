"""A house beside a Telegram of our own: people write there, and the real handlers answer."""

from typing import cast

from opencrab.adapters.telegram.channel import TelegramChannel
from opencrab.adapters.telegram.client import TelegramClient
from opencrab.adapters.telegram.files import TelegramFiles
from opencrab.adapters.telegram.link import TelegramLink
from opencrab.domain.chat.people import TELEGRAM
from opencrab.gateways.door.telegram import SECRET as SECRET_NAME
from opencrab.ports.conversation.channel import DeliveryChannel
from opencrab.ports.conversation.chat_link import ChatLink
from tests.e2e.chat_house import ChatHouse, OneToken
from tests.e2e.troubled_house import Pointed
from tests.telegram.fake import OWNER, SECRET, TOKEN, USERNAME, FakeTelegram
from tests.unit.adapters.web.net import Net

API = "https://telegram.example.org"


class TelegramHouse(ChatHouse):
    """A house with an owner and strangers on Telegram."""

    kind = TELEGRAM
    secret_name, secret, owner = SECRET_NAME, SECRET, OWNER
    vendor: FakeTelegram

    def opened(self) -> FakeTelegram:
        return FakeTelegram(
            self.clock, lambda headers, body: self.at_the_door(headers, body).status
        )

    def connected(self) -> tuple[DeliveryChannel, ChatLink]:
        def seconds() -> float:
            return self.clock.now().timestamp()

        client = TelegramClient(self.vendor.connect, API, OneToken(TOKEN), seconds)
        api = cast(TelegramClient, Pointed(client, self.kind, self))
        self.net = Net(self.vendor.download)
        self.sources[self.kind] = TelegramFiles(api, self.net.files(f"{API}/file/"), seconds)
        return TelegramChannel(api), TelegramLink(api)

    def person_and_room(self, number: int, *, group: bool) -> tuple[str, str]:
        asker = f"{number + 50_000}"
        return asker, f"-100{number}" if group else asker

    def ask(
        self, text: str, asker: str, group: str | None, file: tuple[str, bytes] | None = None
    ) -> None:
        said = f"@{USERNAME} {text}" if group else text
        if file is None:
            self.hear(self.vendor.says(said, asker, group=group))
            return
        sent = self.vendor.document(*file)
        self.hear(self.vendor.says(None, asker, group=group, caption=said, **sent))
