"""The world outside the database: a model that bills, a bell that rings, channels that show.

Each keeps its own book, so that the journal can be compared with what really happened.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from opencrab.actions import GROUPS, Group, Registry
from opencrab.domain.access.impact import Impact
from opencrab.domain.autonomy.instruction_plan import PLAN_EDGES
from opencrab.domain.conversation.message import Channel as Place
from opencrab.domain.conversation.message import Utterance
from opencrab.domain.errors import NeverSent, Unavailable
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.models.routing import Routing
from opencrab.domain.money.budget import Price, Usage
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.record import ActionCall, ModelAnswer, Reflection
from opencrab.domain.value import MicroUsd, Value
from opencrab.ports.conversation.channel import Panel
from opencrab.ports.models.model import (
    UNWATCHED,
    AnswerWatch,
    ChatMessage,
    ChatModel,
    ChatRequest,
    ModelInfo,
)
from opencrab.ports.turn.action import ActionContext, one_line

PRICE = Price(input_per_million=1_000_000, output_per_million=2_000_000)
OUTPUT_TOKENS = 20
_OWN_CALL = re.compile(r"c\d+_\d+")
_SERVED = re.compile(r"\[(?:Task|Goal|目標) (G\d+(?:-T\d+)?)(?:「.*」のタスク (G\d+-T\d+))?")
_ALL_OVER = ("All tasks have ended", "すべてのタスクが終わりました")


@dataclass(frozen=True)
class Reply:
    """What the model says at one step; before that, `fails` once for each error.

    With `ponders` it also thinks so many characters, which are kept and shown to nobody. An answer
    that is `streamed` comes word by word, and may be stopped before each.
    """

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    fails: tuple[Fault, ...] = ()
    ponders: int = 0
    streamed: bool = False


Script = tuple[Reply, ...]


@dataclass
class Bill:
    """What the provider received and charges, whether its answers arrived or not.

    Questions for the plan of standing instructions are charged like all, and counted apart.
    """

    received: int = 0
    plans: int = 0
    charged: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> MicroUsd:
        """Micro-dollars for everybody."""
        return sum(self.charged.values())


class Provider:
    """Models that follow scripts: the step is read off the request, so a repeat gets the same.

    A turn that serves a goal follows `name@G1`, one of its tasks `name@G1-T2`, its report
    `name@G1/report`, where there is such a script. Asked for the plan of standing instructions,
    they answer `plan`, or without it that all of them is one thing to do.
    """

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        self.scripts = scripts
        self.bill = Bill()
        self.failed: Counter[tuple[str, int]] = Counter()
        self.seen: list[ChatRequest] = []
        self.planning: list[ChatRequest] = []
        self.plan = ""
        self.prices: dict[str, Price | None] = {}
        self.retry_after: float | None = None
        self.wrap: Callable[[ChatModel], ChatModel] = lambda model: model
        self.between_words: Callable[[], object] = lambda: None
        self.routing = Routing(default="fake:none")
        self.version = 0

    def reset(self) -> None:
        """Begin a new book."""
        self.bill, self.failed, self.seen = Bill(), Counter(), []
        self.planning = []

    def get(self, name: str | None) -> ChatModel:
        """`ports.model.Models`."""
        wanted = name or self.routing.default
        return self.wrap(ScriptedModel(self, self.routing.aliases.get(wanted, wanted)))

    def refresh(self, version: int) -> None:
        """`ports.model.Models`."""
        self.version = version


class ScriptedModel:
    """`ports.model.ChatModel` for one script."""

    def __init__(self, provider: Provider, name: str) -> None:
        self._provider = provider
        price = provider.prices.get(name, PRICE)
        self.info = ModelInfo(name=name, price=price, private=name.startswith("local:"))

    def encode(self, request: ChatRequest) -> bytes:
        shown = "".join(
            message.text if isinstance(message, ChatMessage) else message.content
            for message in request.turns
        )
        return (request.system + shown).encode()

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        name = self.info.name
        if (asked := _asked_instructions(request)) is not None:
            return self._planned(request, body, asked)
        step = sum(
            isinstance(message, ChatMessage)
            and any(_OWN_CALL.fullmatch(c.id) for c in message.calls)
            for message in request.turns
        )
        key = self._script_of(request)
        script = self._provider.scripts[key]
        reply = script[min(step, len(script) - 1)]
        failures = self._provider.failed[key, step]
        error = reply.fails[failures] if failures < len(reply.fails) else None
        self._provider.failed[key, step] += 1
        self._provider.seen.append(request)
        if error is not None and error is Fault.UNREACHABLE:
            raise ModelCallFailed("the line is dead", error)
        self._provider.bill.received += 1
        usage = Usage(input_tokens=len(body) // 4, output_tokens=OUTPUT_TOKENS)
        pause = self._provider.between_words
        said = _said(reply.text, watch, pause) if reply.streamed and error is None else reply.text
        if said != reply.text:
            usage = usage.replaced(output_tokens=len(said.split()))
            self._provider.bill.charged[name] += PRICE.cost(usage)
            told = usage.replaced(input_tokens=0)
            return ModelAnswer(text=said, finish="stopped", model=name, usage=told)
        if error is None or error.may_be_billed:
            self._provider.bill.charged[name] += PRICE.cost(usage)
        if error is not None:
            wait = self._provider.retry_after
            raise ModelCallFailed("the model fails on purpose", error, retry_after_seconds=wait)
        calls = tuple(
            ActionCall(id=f"x{place}", name=called, arguments=arguments)
            for place, (called, arguments) in enumerate(reply.calls)
        )
        thought = Reflection(judgment="x" * reply.ponders) if reply.ponders else None
        return ModelAnswer(text=reply.text, calls=calls, thought=thought, model=name, usage=usage)

    def _planned(self, request: ChatRequest, body: bytes, asked: str) -> ModelAnswer:
        self._provider.planning.append(request)
        self._provider.bill.plans += 1
        usage = Usage(input_tokens=len(body) // 4, output_tokens=OUTPUT_TOKENS)
        self._provider.bill.charged[self.info.name] += PRICE.cost(usage)
        one = {"name": one_line(asked, 120), "do": asked[:1_000]}
        text = self._provider.plan or json.dumps({"goals": [one]}, ensure_ascii=False)
        return ModelAnswer(text=text, model=self.info.name, usage=usage)

    def _script_of(self, request: ChatRequest) -> str:
        name, last = self.info.name.partition(":")[2], request.turns[-1]
        text = last.text if isinstance(last, ChatMessage) else ""
        served = _SERVED.search(text)
        if served is None:
            return name
        key = f"{name}@{served[2] or served[1]}"
        if any(words in text for words in _ALL_OVER):
            key += "/report"
        return key if key in self._provider.scripts else name


def _asked_instructions(request: ChatRequest) -> str | None:
    """The instructions whose plan a request asks for; None if it is about something else."""
    last = request.turns[-1]
    text = last.text if isinstance(last, ChatMessage) else ""
    for begin, end in PLAN_EDGES.values():
        if f"\n{begin}\n" in text and text.endswith(f"\n{end}"):
            return text.partition(f"\n{begin}\n")[2].removesuffix(f"\n{end}")
    return None


def _said(text: str, watch: AnswerWatch, pause: Callable[[], object]) -> str:
    """The words of an answer until it is complete or its call is stopped."""
    words = text.split(" ")
    for count in range(1, len(words)):
        said = " ".join(words[:count])
        watch.show(partial(str, said))
        if watch.is_stopped():
            return said
        pause()
    return text


class Bell:
    """Something that happens outside every transaction and cannot be taken back."""

    def __init__(self) -> None:
        self.rings: list[str] = []

    def ring(self, key: str) -> None:
        """Ring, and remember on whose behalf."""
        self.rings.append(key)


class RingBell(Value):
    tone: str = "ding"


def registry(bell: Bell, groups: tuple[Group, ...] = GROUPS) -> Registry:
    """All actions of the product, or some groups of them, and one that must never happen twice."""
    group = Group("explorer")

    @group.action(
        impact=Impact.SELF,
        effect=Effect.ONCE,
        sentences=("Ring the bell", "鐘を鳴らす"),
        ja="鐘を一度鳴らします。",
    )
    def ring_bell(arguments: RingBell, context: ActionContext) -> ActionResult:
        """Ring the bell once."""
        bell.ring(context.key)
        return ActionResult.ok(rang=arguments.tone)

    return Registry((*groups, group))


TEAR = "¶"
"""Where a wall tears a text into pieces."""


class Wall:
    """A place where utterances become visible; a repeatable one recognises their nonces.

    A text is shown in the pieces that TEAR parts. The first sends fail, the last of them after the
    piece was shown, as when an answer is lost; the earlier ones before anything is seen.
    """

    def __init__(self, *, repeatable: bool) -> None:
        self.recognises = repeatable
        self.failures = 0
        self.shown: list[tuple[str, str]] = []
        self._nonces: set[str] = set()

    def reset(self, failures: int) -> None:
        """Wipe it; the next sends fail so often."""
        self.failures = failures
        self.shown, self._nonces = [], set()

    def piece_count(self, utterance: Utterance) -> int:
        return len(utterance.text.split(TEAR))

    def is_idempotent(self, utterance: Utterance) -> bool:
        return self.recognises

    def show(self, place: Place, panel: Panel) -> None:
        """Nothing can be replaced here."""

    def send(self, utterance: Utterance) -> None:
        failing = self.failures > 0
        self.failures -= failing
        if failing and self.failures > 0:
            raise NeverSent("the wall cannot be reached")
        nonce = f"{utterance.nonce}-{utterance.piece}"
        if not (self.recognises and nonce in self._nonces):
            self._nonces.add(nonce)
            text = utterance.text.split(TEAR)[utterance.piece]
            self.shown.append((utterance.turn_id, text))
        if failing:
            raise Unavailable("the wall did not answer")


HOPELESS = (Fault.BAD_REQUEST,)
LOST = (Fault.TIMEOUT,)
TWICE_LOST = (Fault.TIMEOUT, Fault.SERVER_ERROR)
DEAD_LINE = (Fault.UNREACHABLE,)
TURNED_AWAY = (Fault.RATE_LIMITED,)
