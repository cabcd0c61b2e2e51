"""The library of WebSockets loads with the first connection; uvicorn chooses it."""

import subprocess
import sys

PROGRAM = """
import sys
import uvicorn
from opencrab.gateways.local.later_websocket import WEBSOCKET_PROTOCOL
from uvicorn.server import ServerState
config = uvicorn.Config(lambda: None, ws=WEBSOCKET_PROTOCOL, log_config=None)
config.load()
print("websockets" in sys.modules)
made = config.ws_protocol_class(config=config, server_state=ServerState(), app_state={})
print("websockets" in sys.modules, type(made).__module__)
"""


def test_the_library_loads_with_the_first_connection() -> None:
    printed = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )
    before, after, module = printed.stdout.split()
    assert (before, after) == ("False", "True")
    assert module.startswith("uvicorn.protocols.websockets.")
