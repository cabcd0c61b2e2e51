"""Agents who talk: models that say the next thing of a list, or what they took to say it."""

from dataclasses import dataclass, field
from typing import Any, cast

from opencrab.domain.conversation.session import Mode, Session
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, ChatMessage, ChatModel, ChatRequest
from tests.e2e.house import House

DONE = "declare_done"
SILENT = "send_noreact"
WORDS = tuple("潮波砂貝岩風雲月星森川雪花鳥魚馬犬猫塩米")
"""So many different topics that nobody ever says nearly the same."""


@dataclass
class Talk:
    """What is said next, and by whom what was said; an action's name is called instead."""

    says: list[Any]
    asked: list[tuple[str, str]] = field(default_factory=list)

    def model(self, model: ChatModel) -> ChatModel:
        """For `Provider.wrap`."""
        return cast(ChatModel, Talking(model, self))


@dataclass(frozen=True)
class Instead:
    """A model that stands before another one, and answers in its place."""

    model: ChatModel

    @property
    def info(self) -> Any:
        return self.model.info

    def encode(self, request: ChatRequest) -> bytes:
        return self.model.encode(request)


@dataclass(frozen=True)
class Telling(Instead):
    """A model that says of itself that it took so many tokens."""

    usage: Usage

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        return self.model.chat(request, body).replaced(usage=self.usage)


@dataclass(frozen=True)
class Talking(Instead):
    """A model of this talk."""

    talk: Talk

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        name = self.model.info.name.partition(":")[2]
        shown = "\n".join(said.text for said in request.turns if isinstance(said, ChatMessage))
        self.talk.asked.append((name, shown))
        says = self.talk.says.pop(0) if self.talk.says else DONE
        usage = Usage(input_tokens=1, output_tokens=1)
        if isinstance(says, str) and says not in {DONE, SILENT}:
            return ModelAnswer(text=says, model=self.model.info.name, usage=usage)
        calls = [(says, {})] if isinstance(says, str) else says
        return ModelAnswer(
            text="",
            calls=tuple(
                ActionCall(id=f"x{n}", name=c, arguments=a) for n, (c, a) in enumerate(calls)
            ),
            model=self.model.info.name,
            usage=usage,
        )


def gathered(house: House, *names: str, says: list[Any], **fields: Any) -> Talk:
    """A discussion of these agents, who say these things in turn and then are done."""
    talk = Talk(says)
    house.provider.wrap = talk.model
    agents = [house.agent(name, (), Language.JA) for name in names]
    house.session(*agents, **{"mode": Mode.AUTONOMOUS, "hop_limit": 6} | fields)
    return talk


def turns_of(house: House) -> list[Turn]:
    """The turns of the session `s`, as far as they spoke, acted, or were told why they began."""
    ids = dict.fromkeys(
        line.turn_id for line in house.home.journal.lines("s", limit=1_000) if line.turn_id
    )
    return [house.turn(turn_id) for turn_id in ids]


def session_of(house: House) -> Session:
    """The session `s` as it is now."""
    return house.home.sessions.get("s")
