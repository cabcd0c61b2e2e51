"""Agents that meet: one asks another by itself, hears the answer, and uses it."""

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.event import HAPPENING
from opencrab.domain.conversation.session import Mode
from opencrab.domain.goals.goal import GoalStatus
from opencrab.domain.memory.memory import EXPERIENCE
from opencrab.domain.outcome import Outcome
from opencrab.domain.peers.talk import PATIENCE, PEER_TALK
from opencrab.domain.value import Language
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.goals.instructions import NewInstruction, start_instruction_as_goal
from tests.crash.errand import OWNER
from tests.e2e.beating import minutes
from tests.e2e.house import House
from tests.e2e.meeting import (
    ANSWER,
    QUESTION,
    REPORT,
    SILENT,
    SOON,
    UNMET,
    Players,
    Said,
    asks,
    goals,
    if_asked,
    meets,
    pair,
    results,
    spoken,
    talk,
    use,
)


@pytest.mark.parametrize("language", Language)
def test_an_agent_asks_another_by_itself_and_its_goal_ends_with_the_answer(
    house: House, language: Language
) -> None:
    players = pair(house, language)
    minutes(house, SOON)
    heard = spoken(house)
    assert heard[0][0] == "aki"
    assert heard[0][1].endswith(QUESTION[language])
    assert heard[1:] == [("bo", ANSWER[language])]
    (goal,) = goals(house)
    assert (goal.name, goal.status) == (UNMET[language], GoalStatus.COMPLETED)
    assert goal.report == REPORT[language].format(answer=ANSWER[language])
    assert goal.satisfaction is not None
    assert (goal.satisfaction.outcome, goal.taint) == (Outcome.SUCCESS, True)
    assert len(house.home.facts.page("aki", EXPERIENCE)) == 1
    prompts = [text for name, text in players.asked if name == "aki"]
    # In the direct session, and in a later turn of its own.
    told = [text for text in prompts if ANSWER[language] in text]
    assert len(told) == 2
    assert "peer.answered Botan (bo)" in told[1]
    assert not any("- bo " in text or "answered bo:" in text for _, text in players.asked)


def test_a_goal_whose_question_nobody_answers_is_given_up(home: House) -> None:
    pair(home, peer=SILENT)
    minutes(home, SOON)
    (goal,) = goals(home)
    assert (goal.status, goal.report) == (GoalStatus.ABANDONED, "")
    assert home.home.facts.page("aki", EXPERIENCE) == ()
    assert [who for who, _ in spoken(home)] == ["aki"]


def test_a_goal_waits_for_an_answer_that_never_comes_only_so_long(home: House) -> None:
    players = pair(home)
    while home.home.facts.get("aki", PEER_TALK, "bo") is None:
        minutes(home, 1)
    waiting = talk(home)
    assert (waiting.waits, goals(home)[0].status) == (True, GoalStatus.PENDING)
    home.lose_agent("bo")
    minutes(home, 1)
    assert goals(home)[0].status is GoalStatus.PENDING
    home.clock.advance(PATIENCE.total_seconds())
    minutes(home, 3)
    assert goals(home)[0].status is GoalStatus.ABANDONED
    assert not any(name == "bo" for name, _ in players.asked)


@pytest.mark.parametrize("language", Language)
def test_a_step_of_another_goal_rests_and_goes_on_with_the_answer(
    home: House, language: Language
) -> None:
    players = pair(home, language)

    def aki(text: str, step: int) -> Said:
        if "海を知る" not in text or "G4" not in text or step:
            return SILENT
        if ANSWER[language] in text:
            return "ws_write", {"path": "tide.md", "content": "9"}
        return use("talk_to_peer", peer="bo", purpose="tides", message=QUESTION[language])

    meets(home, "caro", language)
    players.says["aki"] = aki
    minutes(home, SOON)
    assert home.home.files.info("aki", "tide.md") is not None
    assert [who for who, _ in spoken(home)] == ["aki", "bo"]


@pytest.mark.parametrize("language", Language)
def test_a_notice_wakes_nobody_and_own_turns_see_it_and_help(
    home: House, language: Language
) -> None:
    players = pair(home, language)
    meets(home, "caro", language, owner="somebody", instructions="x")
    asking = use("ask_for_help", text="満潮を知りたい")
    players.says["bo"] = if_asked(asking)
    players.says["caro"] = lambda _text, _step: SILENT
    helping = {Language.EN: "Help Botan", Language.JA: "助けを求めているBotanさん"}

    def aki(text: str, step: int) -> Said:
        if helping[language] not in text or step > 1:
            return SILENT
        if step == 0:
            return use("read_notices")
        return use("talk_to_peer", peer="Botan", purpose="help", message=QUESTION[language])

    players.says["aki"] = aki
    home.session(home.home.agents.get("bo").agent)
    home.say("please")
    home.work()
    asked = len(players.asked)
    run_autonomy_sweep(home.runtime)
    home.work()
    assert len(players.asked) == asked
    minutes(home, SOON)
    (goal,) = goals(home)
    assert helping[language] in goal.name
    assert any("満潮を知りたい" in text for name, text in _shown(players, home) if name == "aki")
    assert [who for who, _ in spoken(home)][:1] == ["aki"]
    board = {Language.EN: "Botan asks for help", Language.JA: "Botanさんが助けを求めています"}
    told = [name for name, text in players.asked if board[language] in text]
    assert "aki" in told
    assert "caro" not in told


def _shown(players: Players, house: House) -> list[tuple[str, str]]:
    """What actions of the goals' sessions returned, by agent."""
    return [("aki", text) for goal in goals(house) for text in results(house, goal.session_id)]


@pytest.mark.parametrize("language", Language)
def test_an_agent_opens_a_discussion_with_others(home: House, language: Language) -> None:
    for name in ("aki", "bo", "caro"):
        meets(home, name, language)
    wanted = {"agents": ["Botan", "caro"], "subject": "海の行事", "message": QUESTION[language]}
    players = asks(home, use("invite_to_discussion", **wanted))
    words = iter("潮波砂貝岩風雲月星森川雪花鳥魚馬犬猫")
    first = players.says["aki"]

    def speaks(text: str, step: int) -> Said:
        return next(words)

    players.says |= {"bo": speaks, "caro": speaks}
    players.says["aki"] = lambda text, step: (
        first(text, step) if "please" in text or step else next(words)
    )
    home.say("please")
    home.work()
    for _ in range(20):
        home.later(61)
    (opened,) = [
        s for s in home.home.sessions.page(after=None, limit=9) if s.mode is not Mode.DIRECT
    ]
    assert (opened.theme, opened.created_by) == ("海の行事", "aki")
    said = spoken(home, opened.id)
    assert said[0] == ("aki", QUESTION[language])
    assert {who for who, _ in said} == {"aki", "bo", "caro"}
    assert opened.ended_by is not None
    assert opened.hops <= (opened.hop_limit or 0)


@pytest.mark.parametrize("language", Language)
def test_a_person_who_had_an_agent_ask_hears_the_answer_in_the_same_conversation(
    home: House, language: Language
) -> None:
    meets(home, "aki", language)
    meets(home, "bo", language)
    question = use("talk_to_peer", peer="Botan", purpose="潮", message=QUESTION[language])
    players = asks(home, question, bo=ANSWER[language])
    marks = {Language.EN: "because of this conversation", Language.JA: "この会話のために"}
    asking = players.says["aki"]

    def aki(text: str, step: int) -> Said:
        return f"PASSED ON {ANSWER[language]}" if marks[language] in text else asking(text, step)

    players.says["aki"] = aki
    home.say("please", channel="wall")
    home.work()
    for _ in range(3):
        home.later(61)
    assert spoken(home, "s")[-1] == ("aki", f"PASSED ON {ANSWER[language]}")
    assert home.wall.shown[-1][1] == f"PASSED ON {ANSWER[language]}"
    told = home.home.journal.lines("s", limit=100)[-1]
    assert (told.taint, told.authority) == (True, Authority.PEER)
    assert home.home.facts.page("aki", HAPPENING) == ()


@pytest.mark.parametrize("language", Language)
def test_who_gave_an_instruction_hears_the_answer_in_its_session(
    home: House, language: Language
) -> None:
    meets(home, "aki", language, enabled=False)
    meets(home, "bo", language, enabled=False)
    players = Players()
    question = use("talk_to_peer", peer="Botan", purpose="潮", message=QUESTION[language])
    steps = (question, ("report", {"summary": "asked"}))

    def aki(text: str, step: int) -> Said:
        told = ANSWER[language] in text and "G1" in text
        return f"PASSED ON {ANSWER[language]}" if told else (*steps, SILENT, SILENT)[step]

    players.says = {"aki": aki, "bo": lambda _text, _step: ANSWER[language]}
    home.provider.wrap = players.model
    asked = NewInstruction(instruction="潮")
    goal = start_instruction_as_goal(home.runtime, "aki", asked, OWNER, key="k")
    home.work()
    for _ in range(3):
        home.later(61)
    assert spoken(home, goal.session_id)[-1] == ("aki", f"PASSED ON {ANSWER[language]}")
    assert home.home.facts.page("aki", HAPPENING) == ()
