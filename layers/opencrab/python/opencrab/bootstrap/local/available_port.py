"""The port that a server on this machine listens on."""

import socket
from errno import EADDRINUSE

from opencrab.domain.errors import Unavailable

_FREE_PORTS = 20
_LAST_PORT = 65_535


def available_local_port(
    host: str, wanted: int, *, fixed: bool, cure: str = "choose another with --port"
) -> int:
    """Return the wanted port, or the next free one unless `fixed`; raises Unavailable."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in range(wanted, min(wanted + _FREE_PORTS, _LAST_PORT + 1)):
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except PermissionError:
                raise Unavailable(
                    f"no permission to listen on port {port}", cure="use --port 8080"
                ) from None
            except OSError as error:
                if not fixed:
                    continue
                why = f"port {port} on {host} cannot be used: {error.strerror}"
                if error.errno == EADDRINUSE:
                    why = f"another program listens on port {port} of {host}"
                raise Unavailable(why, cure=cure) from None
            return port
    raise Unavailable(
        f"no free port from {wanted} on {host}", cure=f"choose one up to {_LAST_PORT} with --port"
    )
