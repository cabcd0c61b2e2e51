"""Over `/mcp`, whoever loses a key or a session while an answer is waited for hears nothing."""

import threading
from typing import Any

import pytest

from opencrab.domain.access.authority import Scope
from tests.integration.rest.house import House
from tests.integration.rest.mcp_client import McpClient
from tests.integration.rest.test_mcp_server import turns


@pytest.mark.parametrize("meta", [{}, {"_meta": {"progressToken": 1}}], ids=["whole", "stream"])
@pytest.mark.parametrize("lost", ["key", "session"])
def test_whoever_loses_key_or_session_while_it_waits_hears_no_answer(
    house: House, lost: str, meta: dict[str, Any]
) -> None:
    secret, kept = house.key(Scope.CHAT)
    agent = house.agent("蟹")
    session = house.made("/sessions", {"participants": [agent]})["id"]
    house.invite(session, secret)
    client = McpClient(house, secret)
    asked = {"agent": "蟹", "message": "say 満潮🦀", "session_id": session, "wait_seconds": 30}
    message = client.message("tools/call", {**meta, "name": "ask_agent", "arguments": asked})
    over = threading.Event()

    def lose_and_work() -> None:
        while not over.is_set() and not turns(house, session):
            over.wait(0.02)
        place = f"/sessions/{session}/members/{kept.principal.id}"
        gone = house.call("DELETE", f"/keys/{kept.id}" if lost == "key" else place)
        assert gone.status_code < 300, gone.text
        house.work()

    loser = threading.Thread(target=lose_and_work)
    loser.start()
    try:
        heard = client.post(message)
    finally:
        over.set()
        loser.join(30)
    assert "満潮" in house.lines(session)[-1]
    assert "満潮" not in heard.text
    assert ("unknown or revoked" if lost == "key" else "there is no turn") in heard.text
