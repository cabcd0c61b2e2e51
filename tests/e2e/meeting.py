"""Agents that meet: models that do what their prompt says, as a function of it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Drives
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.domain.value import Language
from opencrab.engine.agents.vital_signs import create_agent_vital_signs
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, ChatMessage, ChatModel, ChatRequest
from tests.e2e.house import House

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
class _Playing:
    model: ChatModel
    players: Players

    @property
    def info(self) -> Any:
        return self.model.info

    def encode(self, request: ChatRequest) -> bytes:
        return self.model.encode(request)

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
