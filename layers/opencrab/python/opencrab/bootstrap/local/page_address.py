"""Where `opencrab up` serves the dashboard: nowhere, with REST, or at a port of its own as well."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opencrab.bootstrap.local.available_port import available_local_port
from opencrab.domain.errors import Invalid

if TYPE_CHECKING:
    from opencrab.settings import Settings

_LAST_PORT = 65_535
_CURE = "set dashboard.port (OPENCRAB_DASHBOARD__PORT) to a free port, or to 0 for that of REST"


@dataclass(frozen=True)
class PageAddress:
    """The address of the page, and its port if that is not the one of REST."""

    url: str
    port: int | None


def local_page_address(configured: "Settings", host: str, rest_port: int) -> PageAddress | None:
    """Return where the page is served; None if it is off.

    Raises Unavailable if its port is in use, and Invalid if there is no such port.
    """
    if not configured.get("dashboard.enabled"):
        return None
    port = int(configured.get("dashboard.port"))
    if not 0 <= port <= _LAST_PORT:
        raise Invalid(f"there is no port {port}", field="dashboard.port", cure=_CURE)
    own = None if port in {0, rest_port} else port
    if own is not None:
        available_local_port(host, own, fixed=True, cure=_CURE)
    return PageAddress(local_server_url(host, own or rest_port), own)


def local_server_url(host: str, port: int) -> str:
    """Return the address of a server here, as a browser takes it."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
