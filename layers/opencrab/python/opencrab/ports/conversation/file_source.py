"""Files that people attach to messages, where a service keeps them."""

from typing import Protocol


class FileSource(Protocol):
    """The files of one service, at the addresses or by the ids that it tells of them."""

    def fetch(self, url: str, *, most: int, seconds: float) -> bytes:
        """Return a file of at most `most` bytes, read within some seconds.

        Raises Invalid (no address, or a strange answer), Refused (not an address of the service's
        files, or it leads elsewhere), NotFound (gone, or its link is over), TooLarge, Unavailable.
        """
