"""The hostile model: any action, any arguments, any order, and texts that pretend to be others'."""

import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

from pydantic import BaseModel

from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.models.routing import Routing
from opencrab.domain.money.budget import Price, Usage
from opencrab.domain.turn.record import ActionCall, ModelAnswer, Reflection
from opencrab.ports.models.model import (
    UNWATCHED,
    AnswerWatch,
    ChatMessage,
    ChatModel,
    ChatRequest,
    ModelInfo,
)
from opencrab.ports.turn.action import Action
from tests.hostile import arguments, names, words

PRICE = Price(input_per_million=1_000_000, output_per_million=3_000_000)
LONGEST_INPUT = 24_000

_LABEL = re.compile(r"G\d+(?:-T\d+)?")
_ULID = re.compile(r"[0-9A-Z]{26}")
_GOAL = re.compile(r"G\d+\b(?!-)")
_FIELDS = {
    "goal_id": _GOAL, "task_id": _LABEL, "memory_id": _ULID, "belief_id": _ULID,
}  # fmt: skip
_FIXED = {
    "category": ("preference", "fact", "project_summary", "Bad Category"),
    "summary_type": ("session", "day", "../x"),
    "relation": ("near", "part_of", "x y"),
    "peer_id": ("kani", "crab", "yuki", "../kani"),
    "models": ("fake:plain", "fake:dear", "dear"),
    "target_id": ("owner", "yuki", "kani", "crab", "../owner"),
    "session_id": ("hall", "safe", "crab-room", "kani-room"),
    "model_alias": ("cheap", "dear", "fake:dear", "fake:crab"),
    "actions": ("ws_read", "publish_page", "use_action", "nothing"),
    "group": ("workspace", "web", "outside", "root"),
    "template": ("meeting", "study-map", "mine", "../x"),
    "template_name": ("meeting", "daily-review", "mine", "../../x"),
    "folder": ("", "vault", "a/b", "..", "templates"),
}
_INWARD = {"planning", "workspace", "vault", "inner"}
"""Groups whose words are read later by another turn."""
_READING = {"ws_list", "ws_read", "read_note", "get_vault_structure", "browse_history"}
_MOSTLY, _OFTEN, _NAMED = 0.9, 0.6, 0.4
_OVERLONG = 0.3
_LASTING = 0.1
_ELSEWHERE = 0.35
_PATHS = {"path", "filename", "new_path", "source_note", "target_note", "link_text"}
_NAMES = (
    "deep-focus",
    "ws_read",
    "autonomous",
    "use_action",
    "研究のコツ",
    "Good Questions",
    "a b",
)


class Sees(Protocol):
    """Who looks at what a model is sent, and knows what there is."""

    def sees(self, request: ChatRequest, body: bytes) -> tuple[str, ...]:
        """Check a request; the marks of foreign words that its turn has read."""

    def billed(self, micro_usd: int) -> None:
        """A call costs so much."""

    def mint(self) -> str:
        """A new mark."""

    def paths(self) -> tuple[str, ...]:
        """Paths of files that there are, the other agents' among them."""


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


@dataclass
class Mouth:
    """What the hostile model says, from one seed; `budget` ends everything that it would do."""

    dice: random.Random
    actions: tuple[Action, ...]
    watcher: Sees
    failing: float = 0.04
    last: list[ActionCall] = field(default_factory=list)
    elsewhere: tuple[Callable[[], tuple[tuple[str, Mapping[str, Any]], ...]], ...] = ()
    """What lists calls of other installations' tools, by name and schema."""

    def answer(
        self, request: ChatRequest, dirty: tuple[str, ...]
    ) -> tuple[str, tuple[ActionCall, ...]]:
        """A text and calls; either may be missing."""
        dice = self.dice
        read = _read(request)
        if not request.actions:
            return self._summary(read, dirty)
        way = dice.random()
        if way < 0.12:
            return words.text(dice, read, dirty, self.watcher.mint), ()
        if way < 0.22 and self.last:
            return "", tuple(self.last) * dice.choice((1, 1, 4))
        many = dice.choice((1, 1, 1, 2, 2, 3, 5, 12))
        self.last = [self._call(read, dirty) for _ in range(many)]
        text = words.text(dice, read, dirty, self.watcher.mint) if way > 0.8 else ""
        return text, tuple(self.last)

    def _summary(self, read: str, dirty: tuple[str, ...]) -> tuple[str, tuple[ActionCall, ...]]:
        """A summary with every secret and every foreign word in it, or what is none."""
        dice = self.dice
        way = dice.random()
        if way < 0.1:
            return "", ()
        if way < 0.2:
            return words.text(dice, read, dirty, self.watcher.mint), (self._call(read, dirty),)
        told = " ".join((*words.CANARY.findall(read), *dirty))
        title = f"{told} {dice.choice(words.INJECTIONS)}"
        body = f"{words.text(dice, read, dirty, self.watcher.mint)} {told}"
        return f"{title}\n{body * (400 if way < _OVERLONG else 1)}", ()

    def _call(self, read: str, dirty: tuple[str, ...]) -> ActionCall:
        dice = self.dice
        others = [call for listed in self.elsewhere for call in listed()]
        if others and dice.random() < _ELSEWHERE:
            return self._call_elsewhere(others, read, dirty)
        action = dice.choice(self.actions)
        if dice.random() < 0.15:
            action = dice.choice(
                [each for each in self.actions if each.group in {"outside", "web"}]
            )
        elif dice.random() < 0.3:
            action = dice.choice([each for each in self.actions if each.group in _INWARD])
        elif dice.random() < 0.2:
            action = dice.choice([each for each in self.actions if each.name in _READING])
        if dirty and dice.random() < _LASTING:
            # What outlives a turn under a name of its own, and is listed to later ones.
            action = next(each for each in self.actions if each.name == "add_goal")
        schema = _schema(action.arguments)
        given: Any = arguments.valid(schema, dice, lambda name: self._pool(name, read, dirty))
        if action.name == "ws_list" and dice.random() < _MOSTLY:
            given["path"] = dice.choice(names.FOLDERS)
        if dice.random() < 0.15:
            given = arguments.twisted(given, dice)
        name, given = self._wrapped(self._named(action.name), given)
        return ActionCall(id=dice.choice(("x", "c1_0", "", "c1_1")), name=name, arguments=given)

    def _call_elsewhere(
        self, others: list[tuple[str, Mapping[str, Any]]], read: str, dirty: tuple[str, ...]
    ) -> ActionCall:
        dice = self.dice
        tool, schema = dice.choice(others)
        given: Any = arguments.valid(dict(schema), dice, lambda name: self._pool(name, read, dirty))
        if dice.random() < _LASTING:
            given = arguments.twisted(given, dice)
        name, given = self._wrapped(tool, given)
        return ActionCall(id=dice.choice(("x", "c1_0", "", "c1_1")), name=name, arguments=given)

    def _named(self, name: str) -> str:
        way = self.dice.random()
        if way < 0.93:
            return name
        return self.dice.choice(
            (name[:4], name.upper(), name + "\u200b", name.replace("a", "\u0430"), f" {name}",
             "approve", "decide", "__import__", "", f"functions.{name}")
        )  # fmt: skip

    def _wrapped(self, name: str, given: Any) -> tuple[str, Any]:
        way = self.dice.random()
        if way < 0.75:
            return name, given
        inner = {"name": name, "arguments": given}
        if way < 0.93:
            return "use_action", inner
        if way < 0.97:
            return "use_action", {"name": "use_action", "arguments": inner}
        return "use_action", self.dice.choice(({}, {"name": name}, {**inner, "approved": True}))

    def _pool(self, name: str, read: str, dirty: tuple[str, ...]) -> str:
        """A text for a field of this name: one that may fit, else any."""
        dice = self.dice
        if name in _PATHS:
            if dirty and dice.random() < _NAMED:
                return names.path(dice, self.watcher.mint())
            known = [each for each in self.watcher.paths() if dirty or "zqf" not in each]
            return arguments.path(dice, tuple(known))
        if name in _FIELDS:
            found = _FIELDS[name].findall(read)[-3:] or ["G1", "G2-T1", "G0", "x"]
            return str(dice.choice(found))
        if name in _FIXED and dice.random() < _MOSTLY:
            return dice.choice(_FIXED[name])
        return self._said(name, read, dirty)

    def _said(self, name: str, read: str, dirty: tuple[str, ...]) -> str:
        dice = self.dice
        said = words.text(dice, read, dirty, self.watcher.mint)
        if name == "url":
            return words.url(dice, said)
        if name in {"title", "folder", "value"} and dirty:
            return names.name(dice, self.watcher.mint())
        if name in {"skill_name", "name"} and dice.random() < _OFTEN:
            mark = f" {dice.choice(dirty)}" if dirty and dice.random() < _OFTEN else ""
            return dice.choice((*_NAMES, names.name(dice))) + mark
        return said


class HostileModels:
    """`ports.model.Models`: the hostile model under several names and prices."""

    def __init__(self, mouth: Mouth) -> None:
        self.mouth = mouth
        self.routing = Routing(
            default="fake:plain",
            aliases={"cheap": "fake:cheap", "dear": "fake:dear"},
            selectable=("cheap", "dear"),
            fallback=("fake:next",),
        )
        self.wrap: Callable[[ChatModel], ChatModel] = lambda model: model

    def get(self, name: str | None) -> ChatModel:
        wanted = name or self.routing.default
        return self.wrap(HostileModel(self.mouth, self.routing.aliases.get(wanted, wanted)))

    def refresh(self, version: int) -> None:
        """Nothing changes."""


class HostileModel:
    """`ports.model.ChatModel`: what it is sent is looked at before it answers."""

    def __init__(self, mouth: Mouth, name: str) -> None:
        self._mouth = mouth
        self.info = ModelInfo(name=name, price=PRICE, max_input_tokens=LONGEST_INPUT)

    def encode(self, request: ChatRequest) -> bytes:
        return _read(request).encode("utf-8", "replace")

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        mouth, dice = self._mouth, self._mouth.dice
        dirty = mouth.watcher.sees(request, body)
        if dice.random() < mouth.failing:
            raise ModelCallFailed("failed on purpose", dice.choice(tuple(Fault)), billed=False)
        text, calls = mouth.answer(request, dirty)
        usage = Usage(
            input_tokens=int(len(body) * dice.random()),
            output_tokens=int(request.max_output_tokens * dice.random()),
        )
        mouth.watcher.billed(PRICE.cost(usage))
        thought = Reflection(judgment=text[:200]) if dice.random() < 0.1 else None
        return ModelAnswer(
            text=text, calls=calls, thought=thought, model=self.info.name, usage=usage
        )


def _read(request: ChatRequest) -> str:
    """Everything that a request tells, as one text."""
    parts = [request.system]
    for message in request.turns:
        if isinstance(message, ChatMessage):
            parts.append(message.text)
            parts += [f"{call.name} {json.dumps(call.arguments)}" for call in message.calls]
        else:
            parts.append(message.content)
    parts += [each.name for each in request.actions]
    return "\n".join(parts)
