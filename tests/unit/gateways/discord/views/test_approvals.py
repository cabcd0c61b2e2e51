"""Showing approvals: whoever may decide sees what waits, the oldest first, with its buttons."""

from datetime import timedelta
from typing import Any

import pytest

from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.approval import OPEN, Approval, ApprovalRules, ApprovalState
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.discord.community import Person
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.value import Language
from opencrab.engine.approvals.approvals import find_approval, open_or_decided_approvals
from opencrab.engine.approvals.signed_links import read_approval_link
from opencrab.ports.discord import Payload
from tests.crash.outside import Reply
from tests.discord.recording import TARO
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
    assert ids(shown) == [[f"oc:ap:01A00{n}:s", f"oc:ap:01A00{n}:n"] for n in (1, 2)]
    labels = [each["label"] for row in shown["components"] for each in row["components"]]
    words = {Language.EN: ("Open", "Reject"), Language.JA: ("開く", "却下")}[language]
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
    assert [row[0] for row in ids(shown)] == [f"oc:ap:01A00{n}:s" for n in range(5)]
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
    assert ids(answer(stage, "approve", STRANGER)) == [["oc:ap:01A002:s", "oc:ap:01A002:n"]]


def test_what_has_expired_and_whose_agent_is_gone_is_left_out(stage: Stage) -> None:
    stage.agent("crab")
    waits(stage, 1, expires_at=START)
    waits(stage, 2, "nobody")
    assert not answer(stage, "approve")["components"]
    waits(stage, 3, expires_at=START + timedelta(minutes=1))
    shown = answer(stage, "approve", OWNER)
    assert len(ids(shown)) == 1
    assert f"Expires <t:{int(START.timestamp()) + 60}:R>" in told(shown)


def asks(stage: Stage, name: str, arguments: dict[str, Any]) -> Approval:
    """A strict agent asks in the channel whether it may make this call."""
    agent = stage.agent("crab", (Reply(calls=((name, arguments),)),))
    stage.house.home.agents.save(agent.replaced(policy=ApprovalPolicy.STRICT))
    stage.does(stage.door.command("ask", agent="crab", text="書いて"))
    stage.works()
    (approval,) = open_or_decided_approvals(stage.runtime.home.facts, decided=False)
    return approval


def opens(stage: Stage, approval: Approval) -> Payload:
    """What somebody who may decide is shown when they open the call."""
    stage.does(stage.door.press(f"oc:ap:{approval.id}:s", locale="en-US"))
    assert stage.discord.told[-1].message["flags"] == 64
    return stage.discord.told[-1].message


def described(payload: Payload) -> str:
    """The texts of all embeds."""
    return "\n".join(each["description"] for each in payload["embeds"])


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("b" * 388 + " evil", "b" * 388 + " evil"),
        ("invoice\u202egpj.exe", "invoice⟨U+202E⟩gpj.exe"),
        ("a\u200bb", "a⟨U+200B⟩b"),
        ("```\n||hidden||", "⟨U+0060×3⟩\\n\n    ||hidden||"),
        ("蟹の日記です", "蟹の日記です"),
    ],
)
def test_a_call_that_fits_is_shown_whole_and_approved_by_its_hash(
    stage: Stage, content: str, shown: str
) -> None:
    approval = asks(stage, "ws_write", {"path": "日記.md", "content": content})
    listed, opened = answer(stage, "approve"), opens(stage, approval)
    for seen in (stage.room.heard[0].text, described(listed), described(opened)):
        assert shown in seen
        assert f"SHA-256 `{approval.argument_hash[:16]}`" in seen
    yes = f"oc:ap:{approval.id}:y:{approval.argument_hash[:16]}"
    assert ids(listed) == ids(opened) == [[yes, f"oc:ap:{approval.id}:n"]]
    stage.does(stage.door.press(yes))
    assert find_approval(stage.runtime.home.facts, approval.id).state is ApprovalState.APPROVED


def test_what_replaces_something_shows_it_to_the_decider_only(any_stage: Stage) -> None:
    stage = any_stage
    stage.house.home.files.write("crab", "日記.md", "秘密\n".encode())
    approval = asks(stage, "ws_write", {"path": "日記.md", "content": "公開\n"})
    question = stage.room.heard[0].text
    assert "秘密" not in question
    assert "SHA-256" not in question
    assert "opencrab approvals show" in question
    assert "\n-秘密\n+公開\n" in described(opens(stage, approval))


def test_a_call_too_long_for_discord_is_decided_by_a_link_only(stage: Stage) -> None:
    endpoint = "https://crab.example/discord/interactions"
    stage.discord.answers["GET /applications/@me"] = {"interactions_endpoint_url": endpoint}
    vault = Vault()
    stage.house.runtime = stage.replaced(secrets=vault)
    approval = asks(stage, "ws_write", {"path": "日記.md", "content": "長い文章。" * 4_000})
    opened = opens(stage, approval)
    link, reject = opened["components"][0]["components"]
    assert (link["style"], reject["custom_id"]) == (5, f"oc:ap:{approval.id}:n")
    address, _, token = link["url"].partition("?t=")
    assert address == "https://crab.example/approve"
    assert read_approval_link(vault, token).key_id == f"discord-{TARO}"
    assert ids(answer(stage, "approve")) == [[f"oc:ap:{approval.id}:s", f"oc:ap:{approval.id}:n"]]
    assert len(described(opened)) <= 4_096


def test_without_an_address_a_long_call_is_left_to_the_terminal(stage: Stage) -> None:
    approval = asks(stage, "ws_write", {"path": "日記.md", "content": "長い文章。" * 4_000})
    opened = opens(stage, approval)
    assert ids(opened) == [[f"oc:ap:{approval.id}:n"]]
    assert f"opencrab approvals show {approval.id}" in described(opened)


class Vault:
    """Secrets in memory."""

    def __init__(self) -> None:
        self.known = dict[str, str]()

    def get(self, name: str) -> str | None:
        return self.known.get(name)

    def put(self, name: str, value: str) -> None:
        self.known[name] = value

    def forget(self) -> None:
        pass
