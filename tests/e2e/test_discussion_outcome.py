"""Three agents plan a release: the outcome is written, two promise their tasks, one breaks it."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from opencrab.domain.conversation.message import LineKind
from opencrab.domain.conversation.session import Mode
from opencrab.domain.discussion.outcome import (
    DISCUSSION_OUTCOME,
    DiscussionOutcome,
    OutcomeState,
    TaskAnswer,
)
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.goals.promise import PROMISE, Promise, PromiseStatus
from opencrab.domain.memory.memory import MEMORY, Memory
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.value import Language
from tests.e2e.house import START, House
from tests.e2e.players import Decision, Players, wrapped

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

    def __init__(self, house: House, language: Language, **tasks: Any) -> None:
        self.house, self.language = house, language
        self.said: dict[str, int] = {}
        self.outcome: Decision = wrapped(
            "write_outcome",
            decisions=[WORDS[language][0]],
            open_points=["?"],
            tasks=[
                {"who": "Nami", "what": NOTES[language], "due": DUE.isoformat(), **tasks},
                {"who": "Kai", "what": POST[language], "due": DUE.isoformat()},
            ],
        )
        self.answers: dict[str, Decision] = {}
        self.players = Players(self.decide)
        house.provider.wrap = self.players.model
        agents = [house.agent(name, (), language) for name in ("kai", "nami", "umi")]
        for agent in agents:
            house.home.agents.save(agent.replaced(name=agent.id.title()))
        house.session(*agents, mode=Mode.AUTONOMOUS, hop_limit=9, theme="v2")

    def decide(self, name: str, shown: str) -> Decision:
        """What an agent does, by the last thing that it was told."""
        marks = ("write_outcome", "answer_task", "G1")
        last = max(marks, key=shown.rfind)
        if shown.rfind(last) < 0:
            turn = self.said[name] = self.said.get(name, 0) + 1
            return WORDS[self.language][("kai", "nami", "umi").index(name)] if turn == 1 else DONE
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
