"""Files: what people send on LINE, which is the content of a message of its own."""

import re

from opencrab.domain.errors import Refused
from opencrab.ports.conversation.file_source import FileSource

_MESSAGE_ID = re.compile(r"[0-9A-Za-z]{1,64}", re.ASCII)


class LineFiles:
    """`ports.conversation.file_source.FileSource` for the ids of LINE's messages.

    Args:
        addresses: Fetches the content, with the token.
        below: The address of messages.
    """

    def __init__(self, addresses: FileSource, below: str) -> None:
        self._addresses = addresses
        self._below = below

    def fetch(self, url: str, *, most: int, seconds: float) -> bytes:
        if _MESSAGE_ID.fullmatch(url) is None:
            raise Refused("LINE does not keep this file itself")
        return self._addresses.fetch(f"{self._below}{url}/content", most=most, seconds=seconds)
