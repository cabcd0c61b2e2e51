"""Showing agents: everybody learns who one is; what it hears and thinks is its owner's to know."""

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import AgentStatus, Identity, Role
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.discord.community import Person, discord_channel
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.value import Language
from opencrab.engine.goals.instructions import (
    InstructionGiver,
    NewInstruction,
    cancel_goal,
    start_instruction_as_goal,
)
from tests.crash.outside import Reply, Script
from tests.discord.recording import CHANNEL
from tests.unit.engine.telling import plan
from tests.unit.gateways.discord.showing import (
    HOSTILE,
    OWNER,
    STRANGER,
    USER,
    answer,
    fields,
    told,
)
from tests.unit.gateways.discord.stage import Stage

ELSEWHERE = "645027906669510668"
SECRET = "合言葉は夕凪"
RINGS: Script = (
    Reply(text="鐘を鳴らそう", calls=(("ws_write", {"path": f"{SECRET}.md", "content": "x"}),)),
    Reply(text="鳴らした"),
)
EVERYBODY = (OWNER, USER, STRANGER)


def busy(stage: Stage) -> None:
    """An agent that waits for leave to write a file, as the owner told it to in session `s`."""
    stage.house.session(stage.agent("crab", RINGS))
    agent = stage.house.home.agents.get("crab").agent
    stage.house.home.agents.save(agent.replaced(policy=ApprovalPolicy.STRICT))
    stage.house.say(SECRET)
    stage.works()


def given(stage: Stage, person: Person, text: str, *, channel: str | None, key: str) -> str:
    where = None if channel is None else discord_channel(channel)
    asker = InstructionGiver(
        person.principal_id, person.name, Source.DISCORD, Authority.OWNER, where
    )
    goal = start_instruction_as_goal(
        stage.runtime, "crab", NewInstruction(instruction=text), asker, key=key
    )
    return goal.id


@pytest.mark.parametrize("person", EVERYBODY)
def test_everybody_learns_who_an_agent_is(any_stage: Stage, person: Person) -> None:
    agent = any_stage.agent("crab")
    changed = agent.replaced(name="かに丸", purpose="海辺の案内")
    identity = Identity(name="かに丸", role=Role.FACILITATOR, job_title="案内人")
    any_stage.house.home.agents.save(changed, identity=identity)
    shown = answer(any_stage, "agent show", person, language=Language.JA, agent="crab")
    embed = shown["embeds"][0]
    assert (embed["title"], embed["description"]) == ("かに丸", "海辺の案内")
    assert fields(shown) == {
        "役割": "進行役",
        "職種": "案内人",
        "状態": "活動中",
        "言語": "日本語",
        "モデル": "fake:crab",
    }
    english = fields(answer(any_stage, "agent show", person, agent="crab"))
    assert (english["Role"], english["Status"]) == ("facilitator", "active")


def test_a_hostile_name_is_only_text(stage: Stage) -> None:
    agent = stage.agent("crab")
    identity = Identity(name=HOSTILE, role=Role.CUSTOM, custom_role=HOSTILE, job_title=HOSTILE)
    changed = agent.replaced(name=HOSTILE, purpose=HOSTILE * 60)
    stage.house.home.agents.save(changed, identity=identity)
    for name in ("agent show", "agent state", "agent goals", "model list"):
        shown = told(answer(stage, name, agent="crab"))
        assert "@everyone" not in shown
        assert "<@1>" not in shown.replace("\\\\<", "")


def test_the_frozen_and_the_retired_are_told_apart(stage: Stage) -> None:
    agent = stage.agent("crab")
    switches = stage.house.home.switches
    for scope in ("crab", INSTALLATION):
        switches.set(scope, frozen=True)
        assert fields(answer(stage, "agent show"))["Status"] == "frozen"
        assert fields(answer(stage, "agent state"))["Now"] == "frozen"
        switches.set(scope, frozen=False)
    stage.house.home.agents.save(agent.replaced(status=AgentStatus.RETIRED))
    assert fields(answer(stage, "agent show", agent="crab"))["Status"] == "retired"


def test_who_has_heard_nothing_does_nothing(stage: Stage) -> None:
    stage.agent("crab")
    for person in EVERYBODY:
        assert fields(answer(stage, "agent state", person)) == {"Now": "Idle"}


def test_only_the_owner_sees_what_it_heard_thinks_and_does(stage: Stage) -> None:
    busy(stage)
    shown = answer(stage, "agent state", OWNER, language=Language.JA)
    owners = fields(shown)
    assert owners["現在"] == "承認を待っています"
    assert SECRET in owners["最後に受け取ったメッセージ"]
    assert owners["最新の思考"] == "鐘を鳴らそう"
    for person in (USER, STRANGER):
        shown = answer(stage, "agent state", person)
        assert fields(shown) == {"Now": "Waiting for approval"}
        assert SECRET not in told(shown)


def test_at_work_it_is_told_so_and_only_the_owner_learns_with_what(stage: Stage) -> None:
    stage.house.session(stage.agent("crab", RINGS))
    seen: list[tuple[str, str]] = []

    def look() -> None:
        if stage.house.provider.bill.received:
            now = (answer(stage, "agent state", each) for each in (OWNER, STRANGER))
            owners, others = (fields(each) for each in now)
            seen.append((owners.get("Last action", owners["Now"]), str(others)))

    stage.house.interrupt(look)
    stage.house.say("鳴らして")
    stage.works()
    assert len(seen) == 1
    assert SECRET in seen[0][0]
    assert SECRET not in seen[0][1]


def test_outsiders_see_goals_of_their_own_and_of_this_place(stage: Stage) -> None:
    stage.agent("crab")
    given(stage, OWNER, "内緒の仕事", channel=None, key="1")
    given(stage, OWNER, "別室の仕事", channel=ELSEWHERE, key="2")
    given(stage, OWNER, "ここの仕事", channel=CHANNEL, key="3")
    given(stage, STRANGER, "自分の仕事", channel=ELSEWHERE, key="4")
    for name in ("agent goals", "agent state"):
        assert all(f"G{n}" in told(answer(stage, name, OWNER)) for n in range(1, 5))
        assert all(f"G{n}" in told(answer(stage, name, USER)) for n in range(1, 5))
        shown = told(answer(stage, name, STRANGER))
        assert "ここの仕事" in shown
        assert "自分の仕事" in shown
        assert "内緒" not in shown
        assert "別室" not in shown


@pytest.mark.parametrize("language", list(Language))
def test_goals_tell_how_far_they_have_come(stage: Stage, language: Language) -> None:
    stage.agent("crab", (plan(language), Reply(), Reply()), language)
    given(stage, OWNER, "片づけて / tidy up", channel=CHANNEL, key="1")
    stage.house.work()
    found = list(fields(answer(stage, "agent goals", language=language)).items())
    assert len(found) == 1
    name, value = found[0]
    assert name == "G1 片づけて / tidy up"
    assert "0/5" in value
    assert "<t:" in value
    assert value.count("▫️") + value.count("▶️") + value.count("❌") + value.count("✅") == 5


def test_open_goals_come_first_and_the_rest_is_counted(stage: Stage) -> None:
    stage.agent("crab")
    for number in range(1, 13):
        given(stage, OWNER, f"仕事 {number} {HOSTILE * 3}", channel=None, key=str(number))
    for number in range(6, 13):
        cancel_goal(stage.runtime, "crab", f"G{number}", by="owner")
    shown = answer(stage, "agent goals", language=Language.JA)
    names = [name.split()[0] for name in fields(shown)]
    assert names == ["G5", "G4", "G3", "G2", "G1", "G12", "G11", "G10"]
    assert shown["embeds"][0]["footer"]["text"] == "ほか 4 件"


def test_who_has_no_goals_says_so(stage: Stage) -> None:
    stage.agent("crab")
    assert "目標はありません" in told(answer(stage, "agent goals", language=Language.JA))
