"""Leading a discussion: only the facilitator may."""

from dataclasses import replace

import pytest

from opencrab.actions import Registry, discussion_outcome
from opencrab.domain.access.authority import Authority
from opencrab.domain.models.routing import Routing
from opencrab.domain.turn.action import GuidanceGiven, PhaseSet
from opencrab.ports.turn.action import ActionContext

REGISTRY = Registry((discussion_outcome.group,))


def test_the_facilitator_guides_and_sets_the_phase(at: ActionContext) -> None:
    leads = replace(at, session=at.session.replaced(facilitator_id=at.agent.id))
    assert _run(leads, "broadcast_guidance", text="短く") == (GuidanceGiven(text="短く"),)
    assert _run(leads, "set_phase", phase="convergent") == (PhaseSet(phase="convergent"),)
    assert _error(leads, "broadcast_guidance", text=" ").startswith("text is blank")


@pytest.mark.parametrize("more", [False, True])
def test_guidance_ends_the_turn_unless_there_is_more(at: ActionContext, more: bool) -> None:  # noqa: FBT001
    action = REGISTRY.find("broadcast_guidance")
    assert action is not None
    leads = replace(at, session=at.session.replaced(facilitator_id=at.agent.id))
    given = action.arguments.model_validate({"text": "短く", "more": more})
    assert action.ends_turn(given, action.run(given, leads)) is not more


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("broadcast_guidance", {"text": "x"}), ("set_phase", {"phase": "concluded"})],
)
def test_nobody_else_may(at: ActionContext, name: str, arguments: dict[str, str]) -> None:
    assert "only the facilitator" in _error(at, name, **arguments)


def test_a_turn_of_a_peer_may_use_them_all(at: ActionContext) -> None:
    allowed = REGISTRY.allowed(at.agent, Routing(default="fake:none"), Authority.PEER)
    names = [action.name for action in allowed]
    assert names == ["answer_task", "broadcast_guidance", "set_phase", "write_outcome"]


def _run(at: ActionContext, name: str, **arguments: str) -> tuple[object, ...]:
    action = REGISTRY.find(name)
    assert action is not None
    return action.run(action.arguments.model_validate(arguments), at).side_effects


def _error(at: ActionContext, name: str, **arguments: str) -> str:
    action = REGISTRY.find(name)
    assert action is not None
    result = action.run(action.arguments.model_validate(arguments), at)
    assert not result.success
    return str(result.error)
