"""Files: what people attach on Telegram, which is asked for by its id and then downloaded.

The address of a file has the bot's token in it: it appears in no error and no log.
"""

from collections.abc import Callable
from time import monotonic
from typing import Any

from opencrab.adapters.chat.request import SECONDS
from opencrab.adapters.telegram.client import TelegramClient
from opencrab.domain.errors import (
    Invalid,
    NotFound,
    Refused,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from opencrab.ports.conversation.file_source import FileSource


class TelegramFiles:
    """`ports.conversation.file_source.FileSource` for the ids of files on Telegram.

    Args:
        telegram: Tells where a file is.
        addresses: Fetches it there.
        seconds: Monotonic seconds.
    """

    def __init__(
        self,
        telegram: TelegramClient,
        addresses: FileSource,
        seconds: Callable[[], float] = monotonic,
    ) -> None:
        self._telegram = telegram
        self._addresses = addresses
        self._seconds = seconds

    def fetch(self, url: str, *, most: int, seconds: float) -> bytes:
        until = self._seconds() + seconds
        address = self._address(url, seconds)
        return self._addresses.fetch(address, most=most, seconds=until - self._seconds())

    def _address(self, file_id: str, seconds: float) -> str:
        """Ask where a file is; a link is valid for an hour, so none is kept."""
        wait = min(0.0, seconds - SECONDS)
        try:
            found: Any = self._telegram.call("getFile", {"file_id": file_id}, wait=wait)
        except Invalid as error:
            if "too big" in error.message.casefold():
                raise TooLarge("Telegram does not hand out files of this size") from None
            raise Unavailable(error.message) from None
        except (NotFound, Refused) as error:
            raise Unauthenticated(error.message, cure=error.cure) from None
        path = found.get("file_path") if isinstance(found, dict) else None
        if not isinstance(path, str) or not path:
            raise NotFound("Telegram does not tell where the file is")
        return self._telegram.file_address(path)
