"""Signals of turns: what an agent can do well by itself does not raise its reward."""

import pytest

from opencrab.actions import GROUPS, Registry
from opencrab.engine.learning.signals import LOOKING_INWARD


@pytest.mark.parametrize(
    "name", ["send_speech", "talk_to_peer", "invite_to_discussion", "ask_for_help", "offer"]
)
def test_to_talk_to_others_is_no_call_that_went_well(name: str) -> None:
    action = Registry(GROUPS).find(name)
    assert action is not None
    assert action.group in LOOKING_INWARD
