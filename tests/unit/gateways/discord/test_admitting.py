"""Admitting: a list of servers closes others, and private conversations to strangers."""

from typing import Any

import pytest

from opencrab.domain.discord.community import Community
from tests.discord.recording import GUILD, HANA, TARO
from tests.unit.gateways.discord.stage import GUEST, USER_ROLE, Stage

DIRECT: dict[str, Any] = {"guild": None}
GROUP: dict[str, Any] = {
    "guild": None,
    "context": 2,
    "authorizing_integration_owners": {"1": GUEST},
}
BROUGHT: dict[str, Any] = {"authorizing_integration_owners": {"1": GUEST}}
ELSEWHERE = "645027906669510668"


@pytest.fixture
def listed(stage: Stage) -> Stage:
    stage.agent("crab")
    community = Community(owner_ids=(TARO,), role_ids=(USER_ROLE,), guild_ids=("999",))
    stage.house.runtime = stage.replaced(community=community)
    return stage


def asks(stage: Stage, user: str, where: dict[str, Any], **more: Any) -> bool:
    """Whether somebody gets an answer of the agent."""
    before, of = len(stage.said), {"user": user, **where, **more}
    stage.does(stage.door.command("ask", of=of, agent="crab", text="hello"))
    stage.works()
    return len(stage.said) > before


@pytest.mark.parametrize("where", [DIRECT, GROUP])
def test_in_private_strangers_are_refused_and_owners_answered(
    listed: Stage, where: dict[str, Any]
) -> None:
    assert not asks(listed, GUEST, where)
    assert "オーナーと許可されたユーザー" in listed.texts[-1]
    assert not asks(listed, GUEST, where, locale="en-US")
    assert "owners and known users only" in listed.texts[-1]
    assert listed.session() is None
    assert asks(listed, TARO, where)


@pytest.mark.parametrize("where", [{}, BROUGHT])
def test_no_one_is_answered_in_a_server_that_is_not_listed(
    listed: Stage, where: dict[str, Any]
) -> None:
    for user in (GUEST, TARO):
        assert not asks(listed, user, where)
        assert "このサーバーでは" in listed.texts[-1]
    community = Community(guild_ids=(GUILD,))
    listed.house.runtime = listed.replaced(community=community)
    assert asks(listed, GUEST, where)


@pytest.mark.parametrize("lists", [{"owner_ids": (HANA,)}, {"user_ids": (HANA,)}])
def test_in_private_an_agent_answers_its_own_owners_and_users_and_others_do_not(
    listed: Stage, lists: dict[str, Any]
) -> None:
    listed.agent("shrimp")
    listed.place("shrimp", spots=(), **lists)
    assert not asks(listed, HANA, DIRECT)
    assert "crab" not in listed.texts[-1].splitlines()[-1]
    for option in ({"agent": "shrimp"}, {}):
        of = {"user": HANA, **DIRECT}
        listed.does(listed.door.command("ask", of=of, text="hello", **option))
    listed.works()
    assert [listed.turn_of(each).agent_id for each in listed.room.heard] == ["shrimp"] * 2
    assert not asks(listed, GUEST, DIRECT)


@pytest.mark.parametrize("what", ["press", "form", "menu"])
def test_buttons_forms_and_menus_are_refused_as_commands_are(listed: Stage, what: str) -> None:
    given = {"press": "oc:fb:x:u", "form": "oc:sm:crab:G1", "menu": "Remember this"}[what]
    words = () if what == "press" else ("text",)
    listed.does(getattr(listed.door, what)(given, *words, user=GUEST, **DIRECT))
    assert "オーナーと許可されたユーザー" in listed.texts[-1]


def test_without_a_list_everybody_is_answered_in_private(stage: Stage) -> None:
    stage.agent("crab")
    stage.place("crab", ELSEWHERE)
    assert asks(stage, GUEST, DIRECT)


def test_among_others_who_was_placed_elsewhere_answers_owners_and_users_only(stage: Stage) -> None:
    stage.agent("crab")
    assert asks(stage, GUEST, GROUP)
    stage.place("crab", ELSEWHERE, user_ids=(HANA,))
    assert not asks(stage, GUEST, GROUP)
    assert asks(stage, HANA, GROUP)
    assert asks(stage, TARO, GROUP)


def test_a_messages_menu_reaches_no_agent_that_was_placed_elsewhere(stage: Stage) -> None:
    stage.agent("crab")
    stage.place("crab", ELSEWHERE)
    for user in (GUEST, TARO):
        stage.does(stage.door.menu("Ask about this", "満潮は6時", user=user, **GROUP))
        stage.works()
        assert len(stage.said) == int(user == TARO)
