"""The demo world's side of a WebSocket."""

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI
from websockets.sync.client import ClientConnection, connect

from opencrab.domain.errors import Unavailable
from opencrab.domain.world.binding import ENVELOPE_BYTES

_OPEN_SECONDS = 10.0


class DemoSocket:
    """A connection to an installation's WebSocket for worlds."""

    def __init__(self, url: str) -> None:
        """Connect; raise Unavailable if the installation does not let worlds in."""
        try:
            self._connection: ClientConnection = connect(
                url, open_timeout=_OPEN_SECONDS, max_size=ENVELOPE_BYTES + 4_096, proxy=None
            )
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI) as error:
            raise Unavailable(f"cannot connect to {url}: {error}"[:300]) from error

    def send(self, frame: str | bytes) -> None:
        """Send a frame; raise Unavailable if the connection has ended."""
        try:
            self._connection.send(frame)
        except ConnectionClosed as error:
            raise _connection_error(error) from error

    def receive(self, seconds: float) -> str | bytes | None:
        """Return the next frame, None if none comes within so long."""
        try:
            frame = self._connection.recv(timeout=seconds)
        except TimeoutError:
            return None
        except ConnectionClosed as error:
            raise _connection_error(error) from error
        return frame if isinstance(frame, str) else bytes(frame)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _connection_error(error: ConnectionClosed) -> Unavailable:
    reason = error.rcvd.reason if error.rcvd is not None else ""
    return Unavailable(f"the connection ended: {reason or error}"[:300])
