"""Files: what people attach on Slack, at addresses that want the bot's token."""

from opencrab.domain.errors import Refused, Unauthenticated
from opencrab.ports.conversation.file_source import FileSource

_PAGE = b"<!doctype html"
_BEGINNING = 200


class SlackFiles:
    """`ports.conversation.file_source.FileSource` for files of Slack.

    Args:
        addresses: Fetches them, with the token.
        below: The address below which Slack keeps them.
    """

    def __init__(self, addresses: FileSource, below: str) -> None:
        self._addresses = addresses
        self._below = below

    def fetch(self, url: str, *, most: int, seconds: float) -> bytes:
        """Return a file; whom Slack asks to sign in lacks the scope files:read."""
        if not url.startswith(self._below):
            raise Refused("this address is not on Slack's file servers")
        try:
            content = self._addresses.fetch(url, most=most, seconds=seconds)
        except Refused as error:
            raise Unauthenticated(error.message) from None
        is_page = content[:_BEGINNING].lstrip().lower().startswith(_PAGE)
        if is_page and not url.lower().endswith((".html", ".htm")):
            raise Unauthenticated("Slack answered with a page for people")
        return content
