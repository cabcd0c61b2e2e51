"""Three agents plan a release: the outcome is written, two promise their tasks, one breaks it."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.conversation.message import LineKind, Sender
from opencrab.domain.conversation.session import Mode
from opencrab.domain.discussion.outcome import (
    DISCUSSION_OUTCOME,
    DiscussionOutcome,
    OutcomeState,
    TaskAnswer,
    is_outcome_turn,
)
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.domain.goals.promise import (
    PROMISE,
    PROMISE_BOARD,
    Promise,
    PromiseBoard,
    PromiseStatus,
    settling_due_item,
)
from opencrab.domain.memory.memory import MEMORY, Memory
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.money.budget import agent_budget_scope
from opencrab.domain.value import Language
from opencrab.engine.autonomy.due_items import admit_due_item
from opencrab.engine.erasure.erase import erase_data
from opencrab.engine.goals.instructions import cancel_goal
from tests.e2e.house import START, House
from tests.e2e.players import Decision, Players, wrapped
from tests.e2e.talking import turns_of

DUE = START + timedelta(hours=2)
WORDS = {
    Language.EN: ["Friday fits.", "Notes first.", "Then the announcement."],
    Language.JA: ["金曜に出しましょう。", "先に変更点を書きます。", "そのあと告知です。"],
}
NOTES = {Language.EN: "write the release notes", Language.JA: "リリースノートを書く"}
POST = {Language.EN: "publish the announcement", Language.JA: "告知を出す"}
DONE: Decision = ("declare_done", {})
PASS: Decision = ("send_noreact", {})


class Release:
    """The players: nami keeps what she promises, kai does not; umi promises nothing."""

    def __init__(
        self, house: House, language: Language, *, done_when: str | None = None, **fields: Any
    ) -> None:
        self.house, self.language = house, language
        checked = {} if done_when is None else {"done_when": done_when}
        self.outcome: Decision = wrapped(
            "write_outcome",
            decisions=[WORDS[language][0]],
            open_points=["?"],
            tasks=[
                {"who": "Nami", "what": NOTES[language], "due": DUE.isoformat(), **checked},
                {"who": "Kai", "what": POST[language], "due": DUE.isoformat()},
            ],
        )
        self.answers: dict[str, Decision] = {}
        self.players = Players(self.decide)
        house.provider.wrap = self.players.model
        agents = [house.agent(name, (), language) for name in ("kai", "nami", "umi")]
        for agent in agents:
            house.home.agents.save(agent.replaced(name=agent.id.title()))
        usual = {"mode": Mode.AUTONOMOUS, "hop_limit": 9, "theme": "v2"}
        house.session(*agents, **(usual | fields))

    def decide(self, name: str, shown: str) -> Decision:
        """What an agent does, by the last thing that it was told."""
        marks = ("write_outcome", "answer_task", "G1")
        last = max(marks, key=shown.rfind)
        if shown.rfind(last) < 0:
            words = WORDS[self.language][("kai", "nami", "umi").index(name)]
            return DONE if words in shown else words
        if last == "write_outcome":
            return self.outcome
        if last == "answer_task":
            number = {"nami": 1, "kai": 2}[name]
            return self.answers.get(name, wrapped("answer_task", task=number, takes_over=True))
        if name == "nami" and '"path": "notes.md"' not in shown and not self._has_notes():
            return "ws_write", {"path": "notes.md", "content": "v2"}
        return "Done." if self.language is Language.EN else "はい。"

    def _has_notes(self) -> bool:
        return self.house.home.files.info("nami", "notes.md") is not None

    def play(self) -> None:
        """Let them talk, write, answer and work, until nothing more is due today."""
        self.house.say("Plan the release.")
        self.house.work()
        for _ in range(14):
            self.house.later(61)

    @property
    def stored(self) -> DiscussionOutcome:
        """The outcome as it is now."""
        fact = self.house.home.facts.get(INSTALLATION_FACTS, DISCUSSION_OUTCOME, "s")
        assert fact is not None
        return fact.read(DiscussionOutcome)

    def promise(self, name: str) -> Promise:
        """The promise of an agent."""
        (fact,) = self.house.home.facts.page(name, PROMISE)
        return fact.read(Promise)

    def trust(self, name: str, other: str) -> tuple[int, int]:
        """How often an agent saw another one do well, of how often."""
        fact = self.house.home.facts.get(name, PEER, other)
        peer = Peer(agent_id=other) if fact is None else fact.read(Peer)
        return peer.successes, peer.interactions


def _past(due: datetime, house: House) -> None:
    house.later((due - house.clock.now()).total_seconds() + 1)


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
    _past(DUE, house)
    assert release.promise("kai").status is PromiseStatus.BROKEN
    assert release.trust("umi", "kai") == release.trust("nami", "kai") == (1, 2)
    assert release.trust("kai", "nami") == release.trust("umi", "nami") == (2, 2)
    _past(DUE + timedelta(hours=1), house)
    assert release.trust("umi", "kai") == (1, 2)


def _errors(house: House) -> list[str]:
    lines = house.lines(LineKind.ACTION)
    return [line.data["result"] for line in lines if line.data and line.data["state"] == "failed"]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"who": "Ghost"}, "is not in this discussion; they are: Kai (kai)"),
        ({"due": (START - timedelta(days=1)).isoformat()}, "is in the past"),
        ({"due": "2026-02-17T18:00:00"}, "has no time zone"),
        ({"done_when": "file:../secret"}, "'../secret'"),
        ({"what": "x" * 301}, "tasks.0.what"),
    ],
)
def test_a_writer_is_told_what_is_wrong_with_its_outcome(
    home: House, wrong: dict[str, Any], why: str
) -> None:
    release = Release(home, Language.EN)
    tasks = [{"who": "Nami", "what": "notes", "due": DUE.isoformat()} | wrong]
    release.outcome = wrapped("write_outcome", tasks=tasks)
    release.play()
    assert any(why in error for error in _errors(home))
    assert (release.stored.state, release.stored.tasks) == (OutcomeState.UNKNOWN, ())
    notices = [line.text for line in home.lines(LineKind.SYSTEM)]
    assert "The discussion ended without an outcome: none was written." in notices


def test_a_hundred_points_are_too_many(home: House) -> None:
    release = Release(home, Language.EN)
    release.outcome = wrapped("write_outcome", decisions=[f"point {n}" for n in range(100)])
    release.play()
    assert any("at most 20 items" in error for error in _errors(home))
    assert release.stored.state is OutcomeState.UNKNOWN


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (Language.EN, "The discussion ended without an outcome: none was written."),
        (Language.JA, "議論の結果は書かれませんでした。結果は不明です。"),
    ],
)
def test_without_an_outcome_the_discussion_says_so(
    home: House, language: Language, said: str
) -> None:
    release = Release(home, language)
    release.outcome = PASS
    release.play()
    assert (release.stored.state, release.stored.why) == (OutcomeState.UNKNOWN, "idle")
    assert said in [line.text for line in home.lines(LineKind.SYSTEM)]
    assert home.home.facts.page("umi", MEMORY) == ()


def test_an_outcome_is_written_once_and_only_when_asked_for(home: House) -> None:
    release = Release(home, Language.EN)
    asked = release.decide

    def eager(name: str, shown: str) -> Decision:
        if name == "kai" and "ahead" not in shown:
            return release.outcome if len(release.players.heard) == 1 else "ahead"
        return asked(name, shown)

    release.players.decide = eager
    release.play()
    assert any("nobody asked you for an outcome" in error for error in _errors(home))
    assert release.stored.state is OutcomeState.WRITTEN


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
    assert any("task 2 is not yours to answer" in error for error in _errors(home))
    assert any("a refusal needs a reason" in error for error in _errors(home))
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
    payers = {turn.payer for turn in turns_of(home) if is_outcome_turn(turn)}
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
    home.home.switches.set(agent_budget_scope("kai"), frozen=True)
    _past(DUE, home)
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
    _past(DUE, home)
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
    _past(DUE, home)
    assert release.trust("umi", "kai") == (1, 1)


def test_a_condition_that_held_before_proves_nothing(home: House) -> None:
    release = Release(home, Language.EN, done_when="file:notes.md")
    home.home.files.write("nami", "notes.md", b"v1")
    release.play()
    _past(DUE, home)
    promise = release.promise("nami")
    assert (promise.vacuous, promise.status) == (True, PromiseStatus.BROKEN)


def test_a_deed_keeps_a_promise_without_a_condition(home: House) -> None:
    release = Release(home, Language.JA)
    release.play()
    promise = release.promise("nami")
    assert promise.status is PromiseStatus.KEPT
    assert promise.evidence[0].startswith("ws_write notes.md ")


def test_nobody_is_asked_for_an_outcome_after_a_person_ended_it(home: House) -> None:
    release = Release(home, Language.EN)
    home.say("Plan it.")
    home.work()
    home.home.sessions.end("s", home.clock.now())
    for _ in range(5):
        home.later(61)
    assert all("write_outcome" not in shown for _, shown in release.players.heard)


def test_nobody_is_asked_for_an_outcome_when_the_money_is_spent(home: House) -> None:
    release = Release(home, Language.EN, budget_micro_usd=8)
    release.play()
    assert (release.stored.state, release.stored.why) == (OutcomeState.UNKNOWN, "budget")
    assert all("write_outcome" not in shown for _, shown in release.players.heard)


def test_the_facilitator_writes_the_outcome(home: House) -> None:
    release = Release(home, Language.EN, mode=Mode.FACILITATED, facilitator_id="kai")
    release.play()
    assert release.stored.writer_id == "kai"


def test_a_forgotten_discussion_leaves_no_word_of_its_outcome(home: House) -> None:
    release = Release(home, Language.EN)
    release.play()
    _past(DUE, home)
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
    admit_due_item(home.runtime, settling_due_item("s", "again", home.clock.now()))
    home.work()
    assert len(release.players.heard) == asked
