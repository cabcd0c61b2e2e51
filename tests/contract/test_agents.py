"""Agents: created whole and once, changed from the version that was read."""

import pytest

from opencrab.domain.agents.agent import AgentStatus, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.models.routing import ReasoningEffort, Sampling, Use
from opencrab.ports.home import Home
from tests.contract.example import later, profile
from tests.contract.waiting import at_once, eventually


@pytest.mark.parametrize("name", ["花", "Hana O'Neil", "はな🦀"])
def test_an_agent_comes_back_as_it_was_created(home: Home, name: str) -> None:
    created = profile(name=name)
    assert home.agents.create(created) == created
    assert home.agents.get("hana") == created


def test_creating_an_equal_agent_again_answers_the_first(home: Home) -> None:
    first = home.agents.create(profile())
    again = profile(created_at=later(9), updated_at=later(9))
    assert home.agents.create(again) == first
    assert home.agents.get("hana").agent.created_at == first.agent.created_at


def test_creating_another_agent_under_an_id_in_use_is_a_conflict(home: Home) -> None:
    home.agents.create(profile(name="花"))
    with pytest.raises(Conflict, match="hana"):
        home.agents.create(profile(name="Ken"))
    assert home.agents.get("hana").agent.name == "花"


def test_creating_an_agent_again_after_it_was_changed_is_a_conflict(home: Home) -> None:
    created = home.agents.create(profile())
    home.agents.save(created.agent.replaced(name="桜"))
    with pytest.raises(Conflict):
        home.agents.create(profile())


def test_eight_creations_at_once_make_one_agent(home: Home) -> None:
    answers = at_once(8, lambda _: home.agents.create(profile()))
    assert all(answer == answers[0] for answer in answers)
    eventually(lambda: len(home.agents.page(after=None, limit=10)), 1)


def test_the_names_of_agents_are_read_together_without_those_that_do_not_exist(home: Home) -> None:
    home.agents.create(profile(name="花"))
    home.agents.create(profile("ken", name="Ken"))
    assert home.agents.names(["ken", "nobody", "hana"]) == {"hana": "花", "ken": "Ken"}
    assert home.agents.names(()) == {}


def test_an_unknown_agent_is_not_found(home: Home) -> None:
    with pytest.raises(NotFound, match="nobody"):
        home.agents.get("nobody")
    with pytest.raises(NotFound, match="nobody"):
        home.agents.save(profile("nobody").agent)


def test_a_saved_agent_is_the_next_version(home: Home) -> None:
    created = home.agents.create(profile())
    changed = created.agent.replaced(name="桜", status=AgentStatus.DORMANT, updated_at=later(5))
    saved = home.agents.save(changed)
    assert saved == changed.replaced(version=2)
    assert home.agents.get("hana") == Profile(
        agent=saved, soul=created.soul, identity=created.identity
    )


def test_soul_and_identity_are_saved_with_their_agent(home: Home) -> None:
    created = home.agents.create(profile())
    soul = Soul(persona_name="静かな桜")
    identity = created.identity.replaced(organization="OpenCrab 株式会社")
    second = home.agents.save(created.agent, soul=soul)
    third = home.agents.save(second, identity=identity)
    assert home.agents.get("hana") == Profile(agent=third, soul=soul, identity=identity)
    assert third.version == 3


def test_a_change_from_an_old_version_is_a_conflict_and_changes_nothing(home: Home) -> None:
    created = home.agents.create(profile())
    home.agents.save(created.agent.replaced(name="桜"))
    before = home.agents.get("hana")
    with pytest.raises(Conflict):
        home.agents.save(created.agent.replaced(name="Ken"), soul=Soul(persona_name="Ken"))
    assert home.agents.get("hana") == before


def test_of_eight_changes_at_once_one_holds(home: Home) -> None:
    created = home.agents.create(profile())

    def save(number: int) -> bool:
        try:
            home.agents.save(created.agent.replaced(name=f"{number}号"))
        except Conflict:
            return False
        return True

    assert at_once(8, save).count(True) == 1
    assert home.agents.get("hana").agent.version == 2


def test_pages_show_every_agent_once_in_order_of_ids(home: Home) -> None:
    ids = [f"agent{number:02d}" for number in (3, 1, 4, 0, 2)] + ["Z", "_", "a-b"]
    for agent_id in ids:
        home.agents.create(profile(agent_id, name=f"{agent_id}さん"))

    def walk() -> list[str]:
        seen: list[str] = []
        while page := home.agents.page(after=seen[-1] if seen else None, limit=3):
            seen += [found.agent.id for found in page]
        return seen

    eventually(walk, sorted(ids))


def test_a_page_holds_whole_agents(home: Home) -> None:
    created = home.agents.create(profile())
    eventually(lambda: home.agents.page(after=None, limit=10), (created,))
    assert home.agents.page(after="hana", limit=10) == ()


def test_a_page_shows_an_agent_as_it_was_saved(home: Home) -> None:
    created = home.agents.create(profile())
    saved = home.agents.save(created.agent.replaced(status=AgentStatus.RETIRED))
    eventually(lambda: [one.agent for one in home.agents.page(after=None, limit=9)], [saved])


def test_sampling_is_stored_with_its_agent_and_only_where_it_was_set(home: Home) -> None:
    created = home.agents.create(profile())
    # A release without sampling reads every agent that has none.
    assert "sampling" not in created.agent.model_dump_json()
    own = {Use.CONVERSATION: Sampling(temperature=0.2, reasoning_effort=ReasoningEffort.HIGH)}
    changed = created.agent.replaced(llm=created.agent.llm.replaced(sampling=own))
    home.agents.save(changed)
    eventually(lambda: home.agents.get("hana").agent.llm.sampling, own)
