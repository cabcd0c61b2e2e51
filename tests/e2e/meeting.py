"""Agents that meet: models that do what their prompt says, as a function of it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Drives
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.goals.goal import GOAL, Goal, GoalSource
from opencrab.domain.money.budget import Usage
from opencrab.domain.peers.talk import PEER_TALK, PeerTalk, peer_session_id
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.domain.value import Language
from opencrab.engine.agents.vital_signs import create_agent_vital_signs
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, ChatMessage, ChatModel, ChatRequest
from tests.e2e.house import START, House
from tests.e2e.talking import Instead

QUESTION = {Language.EN: "Which tides do you know?", Language.JA: "どの潮を知っていますか。"}
ANSWER = {Language.EN: "High tide is at nine.", Language.JA: "満潮は九時です。"}
_OWN_CALL = re.compile(r"c\d+_\d+")
USAGE = Usage(input_tokens=100, output_tokens=10)

Said = str | tuple[str, dict[str, Any]]
Says = Callable[[str, int], Said]
"""Returns the words, or the call, with which a model answers what it was told, at a step."""


@dataclass
class Players:
    """What each agent says, and what its models were told by others."""

    says: dict[str, Says] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def model(self, model: ChatModel) -> ChatModel:
        """For `Provider.wrap`."""
        return cast(ChatModel, _Playing(model, self))


@dataclass(frozen=True)
class _Playing(Instead):
    players: Players

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        name = self.info.name.partition(":")[2]
        messages = [each for each in request.turns if isinstance(each, ChatMessage)]
        text = "\n".join(each.text for each in messages if each.role == "user")
        step = sum(any(_OWN_CALL.fullmatch(call.id) for call in each.calls) for each in messages)
        self.players.asked.append((name, text))
        said = self.players.says[name](text, step)
        if isinstance(said, str):
            return ModelAnswer(text=said, model=name, usage=USAGE)
        call = ActionCall(id="x0", name=said[0], arguments=said[1])
        return ModelAnswer(text="", calls=(call,), model=name, usage=USAGE)


def use(name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """A call of an action by the way of `use_action`."""
    return "use_action", {"name": name, "arguments": arguments}


SILENT = ("send_noreact", {"reason": "nothing to add"})


def always(said: Said) -> Says:
    """A model that says the same whatever it is told."""
    return lambda _text, _step: said


def if_asked(said: Said) -> Says:
    """A model that does one thing in a session where its owner says please, and else is silent."""
    return lambda text, step: said if not step and "please" in text else SILENT


def meets(
    house: House, name: str, language: Language = Language.EN, owner: str = "owner", **beats: Any
) -> str:
    """An agent with heartbeats, whose name differs from its id."""
    agent = house.agent(name, (), language)
    profile = house.home.agents.get(name)
    shown = NAMES.get(name, name)
    changed = agent.replaced(
        heartbeat=Heartbeat(**beats), owner=owner, purpose=f"Purpose of {shown}"
    )
    soul = profile.soul.replaced(weights=Drives(collaboration=0.5))
    identity = profile.identity.replaced(name=shown)
    house.home.agents.save(changed, soul=soul, identity=identity)
    create_agent_vital_signs(house.runtime, house.home.agents.get(name), reviews=True)
    return name


NAMES = {"aki": "秋", "bo": "Botan", "eve": "Eve"}


CONVERSATION = peer_session_id("aki", "bo")
SOON = 8
UNMET = {Language.EN: "Get to know Botan", Language.JA: "Botanさんと知り合う"}
REPORT = {Language.EN: "Botan answered: {answer}", Language.JA: "Botanさんの返事: {answer}"}


def spoken(house: House, session_id: str = CONVERSATION) -> list[tuple[str, str]]:
    lines = house.home.journal.lines(session_id, limit=200)
    return [(line.speaker_id, line.text) for line in lines if line.kind is LineKind.SPEECH]


def goals(house: House, source: GoalSource = GoalSource.SOCIAL, name: str = "aki") -> list[Goal]:
    found = (fact.read(Goal) for fact in house.home.facts.page(name, GOAL))
    return [goal for goal in found if goal.source is source and goal.deadline is None]


def talk(house: House, caller: str = "aki", peer: str = "bo") -> PeerTalk:
    stored = house.home.facts.get(caller, PEER_TALK, peer)
    assert stored is not None
    return stored.read(PeerTalk)


def drawn(house: House, scope: str) -> int:
    return house.home.budgets.drawn_micro_usd(scope, f"{house.clock.now():%Y-%m-%d}")


def pair(house: House, language: Language = Language.EN, peer: Said | None = None) -> Players:
    """Aki asks by its own heartbeat turn; Botan answers, or says what is given."""
    players = Players()
    meets(house, "aki", language, instructions="海を知る", interval_seconds=61)
    meets(house, "bo", language, enabled=False)

    def aki(text: str, step: int) -> Said:
        if UNMET[language] not in text or step:
            return SILENT
        return use("talk_to_peer", peer="Botan", purpose="tides", message=QUESTION[language])

    players.says = {"aki": aki, "bo": lambda _text, _step: peer or ANSWER[language]}
    house.provider.wrap = players.model
    return players


def asks(house: House, said: Said, name: str = "aki", **others: Said) -> Players:
    """An agent that does one thing when its owner writes, and others that say the same always."""
    players = Players()
    done = house.home.agents.get(name).agent
    house.session(done)
    players.says = {each: always(words) for each, words in others.items()}
    players.says[name] = if_asked(said)
    house.provider.wrap = players.model
    return players


def session_of(name: str) -> Session:
    """A session of one agent with its owner."""
    return Session(
        id=f"{name}-s",
        participants=(Participant(agent_id=name),),
        created_by="owner",
        created_at=START,
        updated_at=START,
    )


def results(house: House, session_id: str = "s") -> list[str]:
    lines = house.home.journal.lines(session_id, limit=1_000)
    calls = [line.data or {} for line in lines if line.kind is LineKind.ACTION]
    return [str(call["result"]) for call in calls if call["name"] != "send_noreact"]
