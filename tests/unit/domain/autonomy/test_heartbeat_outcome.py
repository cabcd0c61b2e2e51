"""What an agent did with a heartbeat, in one word."""

import pytest

from opencrab.domain.autonomy.heartbeat_outcome import heartbeat_decision_of_turn


@pytest.mark.parametrize(
    ("succeeded", "did", "decision"),
    [
        ((), "", "idle"),
        (("ws_read",), "", "idle"),
        (("ws_write",), "acted", "act"),
        (("ws_write", "reflect_and_learn"), "acted", "learn"),
        (("save_memory",), "", "learn"),
        (("send_speech", "reflect_and_learn"), "spoke acted", "speak"),
    ],
)
def test_speech_comes_before_learning_and_that_before_other_acts(
    succeeded: tuple[str, ...], did: str, decision: str
) -> None:
    found = heartbeat_decision_of_turn(succeeded, spoke="spoke" in did, has_acted="acted" in did)
    assert found.value == decision
