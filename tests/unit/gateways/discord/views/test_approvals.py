"""Showing approvals: whoever may decide sees what waits, the oldest first, with its buttons."""

from datetime import timedelta
from typing import Any

import pytest

from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.approval import OPEN, Approval, ApprovalRules
from opencrab.domain.discord.community import Person
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.value import Language
from tests.e2e.house import START
from tests.unit.gateways.discord.showing import (
    HOSTILE,
    OWNER,
    STRANGER,
    USER,
    answer,
    told,
)
from tests.unit.gateways.discord.stage import GUEST, Stage


def waits(stage: Stage, number: int, agent_id: str = "crab", **changes: Any) -> None:
    """Something that waits for a human."""
    approval = Approval(
        id=f"01A{number:03d}",
        agent_id=agent_id,
        session_id="s",
        turn_id=f"t{number}",
        n=1,
        call_id="c1",
        action="ws_write",
        impact=Impact.SHARED,
        argument_hash="hash",
        what=f"Write file {number}",
        touches="日記.md",
        created_at=START,
    ).replaced(**changes)
    stage.house.home.facts.commit(new_fact(INSTALLATION_FACTS, OPEN, approval.id, approval))


def ids(payload: Any) -> list[list[str]]:
    """The custom ids of the buttons, row by row."""
    return [[each["custom_id"] for each in row["components"]] for row in payload["components"]]


@pytest.mark.parametrize("language", list(Language))
def test_the_owner_is_shown_what_waits_with_buttons(any_stage: Stage, language: Language) -> None:
    any_stage.agent("crab")
    for number in (1, 2):
        waits(any_stage, number)
    shown = answer(any_stage, "approve", language=language)
    assert ids(shown) == [[f"oc:ap:01A00{n}:y", f"oc:ap:01A00{n}:n"] for n in (1, 2)]
    labels = [each["label"] for row in shown["components"] for each in row["components"]]
    words = {Language.EN: ("Approve", "Reject"), Language.JA: ("承認", "却下")}[language]
    assert labels == [f"{word} {n}" for n in (1, 2) for word in words]
    assert [each["title"] for each in shown["embeds"]] == ["1. crab", "2. crab"]
    assert "Write file 1" in shown["embeds"][0]["description"]
    assert "日記.md" in shown["embeds"][0]["description"]


def test_five_are_shown_and_that_there_are_more(stage: Stage) -> None:
    stage.agent("crab")
    for number in range(7):
        text = f"{HOSTILE * 20}漢字" * 3
        waits(stage, number, what=text, touches=text, tainted=True)
    shown = answer(stage, "approve", language=Language.JA)
    assert [row[0] for row in ids(shown)] == [f"oc:ap:01A00{n}:y" for n in range(5)]
    assert "ほかにも" in shown["embeds"][-1]["footer"]["text"]
    assert "@everyone" not in told(shown)
    assert told(shown).count("外部の文章") == 5


@pytest.mark.parametrize("person", [USER, STRANGER])
def test_who_may_not_decide_learns_nothing(stage: Stage, person: Person) -> None:
    stage.agent("crab")
    waits(stage, 1)
    shown = answer(stage, "approve", person)
    assert not shown["components"]
    assert "Write file" not in told(shown)


def test_a_delegate_is_shown_what_has_come_to_them(stage: Stage) -> None:
    agent = stage.agent("crab")
    rules = ApprovalRules(delegates=(USER.principal_id,), escalate_minutes=5)
    stage.house.home.agents.save(agent.replaced(approvals=rules))
    waits(stage, 1, escalates_at=START + timedelta(minutes=5))
    assert not answer(stage, "approve", USER)["components"]
    stage.house.clock.advance(300)
    assert ids(answer(stage, "approve", USER))
    assert not answer(stage, "approve", STRANGER)["components"]


def test_an_agents_own_owner_decides_for_that_agent_only(stage: Stage) -> None:
    for name in ("crab", "shrimp"):
        stage.agent(name)
    stage.place("crab", owner_ids=(GUEST,))
    waits(stage, 1, "shrimp")
    waits(stage, 2, "crab")
    assert ids(answer(stage, "approve", STRANGER)) == [["oc:ap:01A002:y", "oc:ap:01A002:n"]]


def test_what_has_expired_and_whose_agent_is_gone_is_left_out(stage: Stage) -> None:
    stage.agent("crab")
    waits(stage, 1, expires_at=START)
    waits(stage, 2, "nobody")
    assert not answer(stage, "approve")["components"]
    waits(stage, 3, expires_at=START + timedelta(minutes=1))
    shown = answer(stage, "approve", OWNER)
    assert len(ids(shown)) == 1
    assert f"Expires <t:{int(START.timestamp()) + 60}:R>" in told(shown)
