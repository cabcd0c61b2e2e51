"""What agents promise when a discussion ends: taken over, declined, kept, broken, withdrawn."""

from datetime import timedelta

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.conversation.message import LineKind, Sender
from opencrab.domain.discussion.outcome import (
    DISCUSSION_OUTCOME,
    DiscussionOutcome,
    OutcomeState,
    TaskAnswer,
    is_discussion_outcome_turn,
)
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.domain.goals.goal import GOAL, Goal, GoalStatus, goal_document_id
from opencrab.domain.goals.promise import (
    PROMISE,
    PROMISE_BOARD,
    PromiseBoard,
    PromiseStatus,
    goal_promises_due_item,
)
from opencrab.domain.memory.memory import MEMORY, Memory
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.value import Language
from opencrab.engine.agents.settings import freeze_or_unfreeze_agent
from opencrab.engine.agents.vital_signs import create_agent_vital_signs
from opencrab.engine.autonomy.due_items import admit_due_item
from opencrab.engine.erasure.erase import erase_data
from opencrab.engine.goals.instructions import cancel_goal
from tests.e2e.house import House
from tests.e2e.players import Decision, wrapped
from tests.e2e.release import DUE, NOTES, PASS, POST, WORDS, Release, errors, past
from tests.e2e.talking import turns_of


@pytest.mark.parametrize("language", list(Language))
def test_a_broken_promise_costs_trust_and_a_kept_one_earns_it(
    house: House, language: Language
) -> None:
    release = Release(house, language, done_when="file:notes.md")
    release.play()
    outcome = release.stored
    assert outcome.state is OutcomeState.WRITTEN
    assert outcome.decisions == (WORDS[language][0],)
    assert [task.answer for task in outcome.tasks] == [TaskAnswer.TAKEN_OVER] * 2
    said = [line.text for line in house.lines(LineKind.SPEECH)]
    assert NOTES[language] in said[-1]
    for name in ("kai", "nami", "umi"):
        (memory,) = (fact.read(Memory) for fact in house.home.facts.page(name, MEMORY))
        assert POST[language] in memory.content
        assert memory.tainted
    kept, open_one = release.promise("nami"), release.promise("kai")
    assert (kept.status, kept.evidence) == (PromiseStatus.KEPT, ("file:notes.md",))
    assert (open_one.status, set(open_one.to)) == (PromiseStatus.OPEN, {"nami", "umi"})
    assert release.trust("umi", "nami") == (2, 2)
    assert release.trust("umi", "kai") == (1, 1)
    past(DUE, house)
    assert release.promise("kai").status is PromiseStatus.BROKEN
    assert release.trust("umi", "kai") == release.trust("nami", "kai") == (0, 2)
    assert release.trust("kai", "nami") == release.trust("umi", "nami") == (2, 2)
    past(DUE + timedelta(hours=1), house)
    assert release.trust("umi", "kai") == (0, 2)
    known = house.home.facts.get("umi", PEER, "kai")
    assert known is not None
    assert known.read(Peer).last_at == release.promise("kai").made_at


def test_a_task_is_declined_with_a_reason_or_not_answered(home: House) -> None:
    release = Release(home, Language.JA)
    release.answers = {
        "nami": wrapped("answer_task", task=1, takes_over=False, reason="出張中です"),
        "kai": PASS,
    }
    release.play()
    declined, silent = release.stored.tasks
    assert (declined.answer, declined.reason) == (TaskAnswer.DECLINED, "出張中です")
    assert silent.answer is TaskAnswer.UNANSWERED
    assert home.home.facts.page("nami", PROMISE) == home.home.facts.page("kai", PROMISE) == ()
    assert home.home.agents.get("nami").mind.agenda.open == ()


def test_nobody_answers_for_another_or_without_a_reason(home: House) -> None:
    release = Release(home, Language.EN)
    release.answers = {
        "nami": wrapped("answer_task", task=2, takes_over=True),
        "kai": wrapped("answer_task", task=2, takes_over=False),
    }
    release.play()
    assert any("task 2 is not yours to answer" in error for error in errors(home))
    assert any("a refusal needs a reason" in error for error in errors(home))
    assert {task.answer for task in release.stored.tasks} == {TaskAnswer.UNANSWERED}


def test_agents_of_another_owner_are_not_asked(home: House) -> None:
    release = Release(home, Language.EN)
    nami = home.home.agents.get("nami").agent
    home.home.agents.save(nami.replaced(owner="somebody-else"))
    release.play()
    first, second = release.stored.tasks
    assert (first.answer, first.reason) == (
        TaskAnswer.NOT_ASKED,
        "the agent belongs to another owner",
    )
    assert second.answer is TaskAnswer.TAKEN_OVER
    assert all("answer_task" not in shown for shown in release.players.told("nami"))


def test_what_a_stranger_set_going_gives_nobody_work(home: House) -> None:
    release = Release(home, Language.EN)
    stranger = {"authority": Authority.PUBLIC, "principal_id": "stranger"}
    home.say("Plan it.", sender=Sender(id="stranger", name="S"), **stranger)
    home.work()
    for _ in range(14):
        home.later(61)
    assert {task.answer for task in release.stored.tasks} == {TaskAnswer.NOT_ASKED}
    payers = {turn.payer for turn in turns_of(home) if is_discussion_outcome_turn(turn)}
    assert payers == {"stranger"}


def test_who_retires_before_it_is_asked_is_not_waited_for(home: House) -> None:
    release = Release(home, Language.EN)
    asked = release.decide

    def retires(name: str, shown: str) -> Decision:
        decided = asked(name, shown)
        if decided == release.outcome:
            kai = home.home.agents.get("kai").agent
            home.home.agents.save(kai.replaced(status=AgentStatus.RETIRED))
        return decided

    release.players.decide = retires
    release.play()
    assert [t.answer for t in release.stored.tasks] == [
        TaskAnswer.TAKEN_OVER,
        TaskAnswer.UNANSWERED,
    ]


def test_the_promise_of_an_agent_that_was_frozen_is_not_held_against_it(home: House) -> None:
    release = Release(home, Language.EN)
    release.play()
    freeze_or_unfreeze_agent(home.home, "kai", frozen=True, by="owner")
    past(DUE, home)
    promise = release.promise("kai")
    assert (promise.status, promise.told) == (PromiseStatus.WITHDRAWN, ("kai", *promise.to))
    assert release.trust("umi", "kai") == (1, 1)


def test_a_promise_withdrawn_in_time_is_neither_kept_nor_broken(home: House) -> None:
    release = Release(home, Language.EN)
    asked = release.decide

    def withdraws(name: str, shown: str) -> Decision:
        if name == "kai" and shown.rfind("G1") > shown.rfind("answer_task"):
            return wrapped("withdraw_promise", goal_id="G1", reason="no time")
        return asked(name, shown)

    release.players.decide = withdraws
    release.play()
    promise = release.promise("kai")
    assert (promise.status, promise.reason) == (PromiseStatus.WITHDRAWN, "no time")
    assert home.home.agents.get("kai").mind.agenda.open == ()
    past(DUE, home)
    assert release.promise("kai").status is PromiseStatus.WITHDRAWN
    assert release.trust("umi", "kai") == (1, 1)


def test_a_promise_whose_goal_its_owner_cancels_is_withdrawn(home: House) -> None:
    release = Release(home, Language.EN)
    asked = release.decide

    def is_cancelled(name: str, shown: str) -> Decision:
        if name == "kai" and shown.rfind("G1") > shown.rfind("answer_task"):
            cancel_goal(home.runtime, "kai", "G1", by="owner", reason="not this year")
        return asked(name, shown)

    release.players.decide = is_cancelled
    release.play()
    promise = release.promise("kai")
    assert (promise.status, promise.reason) == (PromiseStatus.WITHDRAWN, "not this year")
    past(DUE, home)
    assert release.trust("umi", "kai") == (1, 1)


def test_a_condition_that_held_before_proves_nothing(home: House) -> None:
    release = Release(home, Language.EN, done_when="file:notes.md")
    home.home.files.write("nami", "notes.md", b"v1")
    asked = release.decide

    def reports(name: str, shown: str) -> Decision:
        decided = asked(name, shown)
        return wrapped("report", summary="It is there.") if decided == "Done." else decided

    release.players.decide = reports
    release.play()
    past(DUE, home)
    promise = release.promise("nami")
    assert (promise.vacuous, promise.status) == (True, PromiseStatus.BROKEN)


def test_a_deed_keeps_a_promise_without_a_condition(home: House) -> None:
    release = Release(home, Language.JA)
    release.play()
    promise = release.promise("nami")
    assert promise.status is PromiseStatus.KEPT
    assert promise.evidence[0].startswith("ws_write notes.md ")


def test_a_forgotten_discussion_leaves_no_word_of_its_outcome(home: House) -> None:
    release = Release(home, Language.EN)
    release.play()
    past(DUE, home)
    for name in ("nami", "kai", "umi"):
        wish = ErasureRequest(scope=ErasureScope.SESSION, id="s")
        assert erase_data(home.runtime, name, wish).done
    assert (release.stored.state, release.stored.decisions) == (OutcomeState.UNKNOWN, ())
    assert home.home.facts.page("nami", PROMISE) == ()
    for name in ("nami", "kai", "umi"):
        board = home.home.facts.get(name, PROMISE_BOARD, PROMISE_BOARD)
        assert board is not None
        assert board.read(PromiseBoard) == PromiseBoard()
        assert home.home.facts.page(name, MEMORY) == ()
    asked = len(release.players.heard)
    admit_due_item(home.runtime, goal_promises_due_item("s", "again", home.clock.now()))
    home.work()
    assert len(release.players.heard) == asked


def test_who_was_asked_before_in_other_words_is_still_waited_for(home: House) -> None:
    release = Release(home, Language.EN)
    asked = release.decide

    def restarts(name: str, shown: str) -> Decision:
        decided = asked(name, shown)
        if "answer_task" in str(decided):
            fact = home.home.facts.get(INSTALLATION_FACTS, DISCUSSION_OUTCOME, "s")
            assert fact is not None
            lost = fact.read(DiscussionOutcome).replaced(asked=False)
            home.home.facts.commit(fact.with_body(lost))
            for agent_id in ("kai", "nami"):
                agent = home.home.agents.get(agent_id).agent
                home.home.agents.save(agent.replaced(language=Language.JA))
            admit_due_item(home.runtime, goal_promises_due_item("s", "again", home.clock.now()))
        return decided

    release.players.decide = restarts
    release.play()
    assert {task.answer for task in release.stored.tasks} == {TaskAnswer.TAKEN_OVER}


def test_to_read_is_no_deed(home: House) -> None:
    release = Release(home, Language.EN)
    asked = release.decide

    def reads(name: str, shown: str) -> Decision:
        decided = asked(name, shown)
        if name == "nami" and decided[0] == "ws_write":
            home.home.files.write("nami", "notes.md", b"v1")
            return "ws_read", {"path": "notes.md"}
        return wrapped("report", summary="Read it.") if decided == "Done." else decided

    release.players.decide = reads
    release.play()
    past(DUE, home)
    fact = home.home.facts.get("nami", GOAL, goal_document_id("G1"))
    assert fact is not None
    assert fact.read(Goal).status is GoalStatus.COMPLETED
    assert release.promise("nami").status is PromiseStatus.BROKEN


@pytest.mark.parametrize(
    ("language", "made", "received"),
    [
        (
            Language.EN,
            "- G1 to Nami, Umi, by 01-05 11:00, open: publish the announcement",
            "- Nami, by 01-05 11:00, kept: write the release notes",
        ),
        (
            Language.JA,
            "- G1 相手: Nami, Umi 期限 01-05 11:00 未了: 告知を出す",
            "- Nami 期限 01-05 11:00 守られた: リリースノートを書く",
        ),
    ],
)
def test_own_turns_show_what_was_promised_to_whom_by_name(
    home: House, language: Language, made: str, received: str
) -> None:
    release = Release(home, language, done_when="file:notes.md")
    asked = release.decide

    def waits(name: str, shown: str) -> Decision:
        """Kai looks at his files until his turn is over, and promises nothing more."""
        if name == "kai" and shown.rfind("G1") > shown.rfind("answer_task"):
            return "ws_list", {}
        return asked(name, shown)

    release.players.decide = waits
    release.play()
    told = "\n".join(release.players.told("kai"))
    assert made in told
    home.home.agents.save(
        home.home.agents.get("kai").agent.replaced(heartbeat=Heartbeat(instructions="Plan."))
    )
    create_agent_vital_signs(home.runtime, home.home.agents.get("kai"))
    for _ in range(3):
        home.later(61)
    assert received in "\n".join(release.players.told("kai"))
