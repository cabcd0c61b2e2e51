"""A2A: whoever loses the key while a task is worked on hears nothing more of it."""

import pytest

from opencrab.domain.access.authority import Scope
from tests.integration.rest.a2a_client import A2aClient, sending, serve_a2a
from tests.integration.rest.house import House


@pytest.mark.parametrize("is_limited", [False, True], ids=["here", "on Lambda"])
def test_a_key_that_is_revoked_while_it_waits_gets_no_answer(
    house: House,
    is_limited: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    agent = house.agent("Mika")
    secret, kept = house.key(Scope.CHAT)
    client = A2aClient(serve_a2a(house, longest_seconds=20 if is_limited else None), "Mika", secret)
    method = "SendStreamingMessage" if is_limited else "SendMessage"
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": sending("say 満潮🦀", "m")}
    with house.revoking(kept, agent):
        answer = client.post(asked)
    assert answer.status_code == 401
    assert "unknown or revoked" in answer.json()["error"]["message"]
    assert "満潮" not in answer.text
