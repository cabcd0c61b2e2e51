"""A vault with notes is told in prompts, with the actions for it."""

from dataclasses import replace

import pytest

from opencrab.actions import GROUPS, Registry
from opencrab.adapters.skill_files import FileSkills
from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.document import new_fact
from opencrab.domain.models.routing import CallOptions
from opencrab.domain.value import Language
from opencrab.engine.skills.owner import SkillOwner
from opencrab.engine.turn.prompt.request import build_turn_prompt_request
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.models.model import ChatRequest
from tests.conftest import ROOT
from tests.unit.engine.known_world import INFO, QUIET, World

SKILLS = FileSkills(ROOT / "skills")
TOLD = {Language.JA: "vault/ には", Language.EN: "in vault/: look there before"}


@pytest.fixture
def skilled(world: World) -> World:
    """With the skills that are shipped."""
    world.runtime = replace(world.runtime, skills=SKILLS, actions=Registry(GROUPS, SKILLS))
    return world


def request(work: TurnWork) -> ChatRequest:
    return build_turn_prompt_request(work, INFO, CallOptions(), work.look(QUIET))


def offers_notes(work: TurnWork) -> bool:
    return {"search_notes", "create_note"} <= {each.name for each in request(work).actions}


def test_a_vault_is_told_once_there_are_notes_in_it(skilled: World) -> None:
    before = skilled.begun()
    assert not offers_notes(before)
    assert not any(told in request(before).system for told in TOLD.values())
    agent_id = before.turn.agent_id
    skilled.runtime.home.files.write(agent_id, "vault/海.md", b"x")
    after = skilled.begun()
    assert offers_notes(after)
    assert TOLD[after.profile.agent.language] in request(after).system
    assert "knowledge-vault" in request(after).system
    assert request(after).system == request(skilled.begun("別の話")).system


def test_what_the_owner_switched_off_stays_off(skilled: World) -> None:
    work = skilled.begun()
    agent_id = work.turn.agent_id
    skilled.runtime.home.files.write(agent_id, "vault/海.md", b"x")
    owner = SkillOwner(skilled.runtime, agent_id)
    assert owner.get("knowledge-vault").on
    assert not owner.toggle("knowledge-vault").on
    assert not offers_notes(skilled.begun())
    assert "vault/" not in request(skilled.begun()).system
    assert owner.toggle("knowledge-vault").on


def test_a_vault_that_is_empty_is_told_to_nobody_who_has_the_skill(skilled: World) -> None:
    work = skilled.begun()
    mind = AgentState(enabled=("knowledge-vault",))
    skilled.runtime.home.facts.commit(new_fact(work.turn.agent_id, MIND, MIND, mind))
    assert offers_notes(skilled.begun())
    assert not any(told in request(skilled.begun()).system for told in TOLD.values())


def test_who_may_read_none_of_the_notes_is_told_of_none(skilled: World) -> None:
    agent_id = skilled.begun().turn.agent_id
    skilled.runtime.home.files.write(agent_id, "vault/海.md", b"x")
    work = skilled.begun(principal_id="guest", authority=Authority.PUBLIC)
    assert not work.clearance.whole
    assert not any(told in request(work).system for told in TOLD.values())
