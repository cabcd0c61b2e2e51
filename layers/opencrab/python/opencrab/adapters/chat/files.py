"""Files of a chat service at addresses that want the bot's token.

Rules that every adapter of a chat service may use; it knows none of them. No token appears in an
error: it is sent in a header, to the addresses that `addresses` allows.
"""

from collections.abc import Iterable
from typing import Protocol

from opencrab.adapters.chat.request import ChatTokens
from opencrab.domain.errors import Invalid, Refused, TooLarge, Unauthenticated, Unavailable


class FileServer(Protocol):
    """A `FileSource` for addresses, to which headers can be sent."""

    def fetch(
        self, url: str, *, most: int, seconds: float, headers: Iterable[tuple[str, str]] = ()
    ) -> bytes:
        """Return a file; raises as `FileSource` does."""


class FilesWithToken:
    """`ports.conversation.file_source.FileSource` for addresses that want the bot's token."""

    def __init__(self, addresses: FileServer, tokens: ChatTokens) -> None:
        self._addresses = addresses
        self._tokens = tokens

    def fetch(self, url: str, *, most: int, seconds: float) -> bytes:
        """Return a file; the token is forgotten if it may be an old one, and Unavailable raised."""
        try:
            token = self._tokens.token()
        except Refused as error:
            raise Unauthenticated(error.message, cure=error.cure) from None
        headers = (("authorization", f"Bearer {token}"),)
        try:
            return self._addresses.fetch(url, most=most, seconds=seconds, headers=headers)
        except Invalid as error:
            if isinstance(error, TooLarge) or error.field is not None:
                raise
            self._tokens.forget()
            raise Unavailable(error.message, cure=error.cure) from None
