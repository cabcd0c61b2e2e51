"""Three agents who plan a release: players, and what is stored of what they agreed on."""

from datetime import datetime, timedelta
from typing import Any

from opencrab.domain.conversation.message import LineKind
from opencrab.domain.conversation.session import Mode
from opencrab.domain.discussion.outcome import (
    DISCUSSION_OUTCOME,
    DiscussionOutcome,
)
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.goals.promise import (
    PROMISE,
    Promise,
)
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


def past(due: datetime, house: House) -> None:
    house.later((due - house.clock.now()).total_seconds() + 1)


def errors(house: House) -> list[str]:
    lines = house.lines(LineKind.ACTION)
    return [line.data["result"] for line in lines if line.data and line.data["state"] == "failed"]
