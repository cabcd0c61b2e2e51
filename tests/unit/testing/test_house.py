"""The house for authors of actions: whole turns with a script, and what they tell of them."""

import subprocess
import sys

import pytest

from opencrab.actions.custom import CallContext, action
from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent_state import AgentState
from opencrab.testing import agent_house, call

sent = list[str]()


@action(impact="external", effect="once", sentences=("Send {text}", "{text}を送る"))
def send_flare(text: str, context: CallContext) -> dict[str, str]:
    """Send a flare."""
    sent.append(text)
    return {"sent": text, "by": context.authority}


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_turn_is_told_with_what_was_said_done_and_asked(language: str) -> None:
    sent.clear()
    with agent_house(send_flare, language=language) as house:
        turn = house.say("Help! 助けて", call("send_flare", text="赤"), "送りました。")
        assert (turn.status, turn.said, turn.approvals) == ("completed", ("送りました。",), 1)
        assert turn.calls[0].data == {"sent": "赤", "by": "owner"}
        again = house.say("And again", call("send_flare", text="blue"), "no", approve=False)
        assert (again.status, again.said, again.calls[0].state) == ("stopped", (), "refused")
        plain = house.say("Thanks", "You are welcome.")
        assert (plain.said, plain.calls, plain.approvals) == (("You are welcome.",), (), 0)
    assert sent == ["赤"]


def test_its_prompt_describes_the_actions_beside_those_of_the_core() -> None:
    with agent_house(send_flare) as house:
        routing, mind = house.runtime.models.routing, AgentState()
        actions = house.runtime.actions
        told = actions.schemas(house.agent, routing, Authority.OWNER, mind)
        assert "send_flare" in {each.name for each in told}
        strange = actions.schemas(house.agent, routing, Authority.PUBLIC, mind)
        assert "send_flare" not in {each.name for each in strange}


def test_what_is_no_action_is_named() -> None:
    with pytest.raises(TypeError, match="call is no action"), agent_house(call):
        pass


def test_it_needs_no_test_runner() -> None:
    program = "import opencrab.testing, sys; print(sorted({'pytest', 'moto'} & set(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "[]"
