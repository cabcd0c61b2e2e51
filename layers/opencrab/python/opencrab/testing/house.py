"""A whole installation in a temporary folder, with one agent whose model follows a script.

Time is a fixed clock's, and nothing is sent anywhere: except by the actions under test.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from opencrab.actions import GROUPS, Group, Registry
from opencrab.actions.custom.call import CustomValues
from opencrab.actions.custom.declaration import (
    GROUP,
    LONGEST_SECONDS,
    CustomAction,
    declared_custom_action,
)
from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from opencrab.bootstrap.local.simulation import simulated_local_installation
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.approvals.policy import ApprovalPolicy, Policy
from opencrab.domain.conversation.message import LineKind, Message, Sender, TextPart
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.models.routing import Routing
from opencrab.domain.turn.record import CallResult
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.agents.creation import NewAgent, create_agent
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.conversation.delivery import deliver_session_utterance
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.turn.control import decide_waiting_turn
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.ports.turn.queue import MessageOutcome

if TYPE_CHECKING:
    from opencrab.adapters.system_clock import FakeClock
    from opencrab.engine.runtime import Runtime
    from opencrab.ports.models.model import ChatModel
    from opencrab.ports.turn.queue import Delivery, Queue

OWNER, SESSION = "owner", "house"
_ROUNDS = 20
_LINES = 1_000


@dataclass(frozen=True)
class ModelCall:
    """A tool call that the scripted model makes."""

    name: str
    arguments: Mapping[str, Any]


def call(name: str, /, **arguments: Any) -> ModelCall:
    """Return a tool call for a script."""
    return ModelCall(name, arguments)


@dataclass(frozen=True)
class HouseCall:
    """How a tool call of a turn ended: `completed`, `failed`, `unknown`, `refused` or `cancelled`.

    `data` is what the action returned, as the model reads it, and `error` why it did not;
    `tainted` says that it counts as words of others.
    """

    name: str
    state: str
    data: Mapping[str, Any] | None
    error: str
    tainted: bool


@dataclass(frozen=True)
class HouseTurn:
    """A turn that has ended: its status, what the agent said, its calls, and how often it asked."""

    status: str
    said: tuple[str, ...]
    calls: tuple[HouseCall, ...]
    approvals: int


class ScriptedModels:
    """`ports.models.model.Models` with one scripted model, whatever name is asked for."""

    def __init__(self, script: Sequence[ScriptedAnswer] = ()) -> None:
        self.model: ChatModel = Scripted(script)
        self.wrap: Callable[[ChatModel], ChatModel] = lambda model: model

    @property
    def routing(self) -> Routing:
        return Routing(default=self.model.info.name)

    def get(self, name: str | None) -> "ChatModel":  # noqa: ARG002 - the port's
        return self.wrap(self.model)

    def refresh(self, version: int) -> None:
        """Do nothing: there are no preferences."""


class AgentHouse:
    """An installation with one agent, whose work is done by `say` itself."""

    def __init__(
        self,
        runtime: "Runtime",
        clock: "FakeClock",
        language: Language = Language.EN,
        *,
        policy: Policy = ApprovalPolicy.GUARDED,
    ) -> None:
        self.runtime = runtime
        self.clock = clock
        self._messages = 0
        new = NewAgent(name="Aki", language=language, policy=policy)
        self.agent = create_agent(runtime, new, owner=OWNER, agent_id="aki").agent
        now = clock.now()
        runtime.home.sessions.create(
            Session(
                id=SESSION,
                participants=(Participant(agent_id=self.agent.id),),
                created_by=OWNER,
                created_at=now,
                updated_at=now,
            )
        )

    def say(
        self,
        text: str,
        *replies: str | ModelCall,
        approve: bool = True,
        authority: str = "owner",
    ) -> HouseTurn:
        """Say something to the agent, and return its turn once it has ended.

        The model answers with the replies, one at each step: a text ends the turn. What asks the
        owner is approved, or rejected with `approve=False`. `authority` is whom the words are of:
        owner, user, public or peer.
        """
        return self.finish(self.admit(text, *replies, authority=authority), approve=approve)

    def admit(self, text: str, *replies: str | ModelCall, authority: str = "owner") -> Turn:
        """Accept a message, and leave its turn in the queue."""
        script = tuple(map(_script_answer, replies))
        models = self.runtime.models
        if not isinstance(models, ScriptedModels):
            raise TypeError("the models of a house are scripted")
        models.model = Scripted(script)
        self._messages += 1
        said = Message(
            source=Source.REST,
            source_id=f"m{self._messages}",
            principal_id=authority,
            sender=Sender(id=authority, name=authority.capitalize()),
            authority=Authority(authority),
            parts=(TextPart(text=text),),
        )
        (turn,) = admit_turns_of_message(self.runtime, SESSION, said)
        return turn

    def finish(self, turn: Turn, *, approve: bool = True) -> HouseTurn:
        """Work until a turn has ended, and answer what it asks."""
        asked = 0
        for _ in range(_ROUNDS):
            self.work()
            status = self.runtime.home.journal.header(turn.id).status
            if status.is_end:
                return self._ended(turn.id, asked)
            if status is TurnStatus.WAITING:
                asked += 1
                decide_waiting_turn(self.runtime, turn.id, approved=approve, by=OWNER)
            else:
                self.later(self.runtime.rules.visibility_seconds + 1)
        raise AssertionError(f"the turn has not ended after {_ROUNDS} rounds of work")

    def work(self) -> None:
        """Handle every message that is visible now."""
        home, runtime = self.runtime.home, self.runtime
        handlers: tuple[tuple[Queue, Callable[[Delivery], MessageOutcome]], ...] = (
            (home.turns, lambda delivery: run_turn(runtime, delivery, Pace())),
            (home.deliveries, lambda delivery: deliver_session_utterance(runtime, delivery)),
        )
        while any(self._one(queue, handle) for queue, handle in handlers):
            pass

    def later(self, seconds: float) -> None:
        """Let time pass, and find what a dead worker left."""
        self.clock.advance(seconds)
        run_autonomy_sweep(self.runtime)

    def _one(self, queue: "Queue", handle: "Callable[[Delivery], MessageOutcome]") -> bool:
        seconds = self.runtime.rules.visibility_seconds
        delivery = queue.receive(visibility_seconds=seconds, wait_seconds=0)
        if delivery is not None and handle(delivery) is MessageOutcome.FINISHED:
            queue.acknowledge(delivery.receipt)
        return delivery is not None

    def _ended(self, turn_id: str, asked: int) -> HouseTurn:
        found = self.runtime.home.journal.load(turn_id)
        lines = self.runtime.home.journal.lines(SESSION, limit=_LINES)
        return HouseTurn(
            status=found.turn.status.value,
            said=tuple(
                line.text
                for line in lines
                if line.kind is LineKind.SPEECH
                and line.speaker_id == self.agent.id
                and line.turn_id == turn_id
            ),
            calls=tuple(
                _house_call(each) for each in found.records if isinstance(each, CallResult)
            ),
            approvals=asked,
        )


@contextmanager
def agent_house(
    *actions: Callable[..., Any],
    values: Mapping[str, str] | None = None,
    language: str = "en",
) -> Iterator[AgentHouse]:
    """Yield a house whose agent has all actions of OpenCrab, and these.

    `values` stand for the settings below `[actions.values]`. Raises ActionDeclarationError for a
    function that is no action.
    """
    declared = [declared_custom_action(each) for each in actions]
    with (
        TemporaryDirectory() as folder,
        installed_custom_actions(Path(folder), declared, values or {}) as (runtime, clock),
    ):
        yield AgentHouse(runtime, clock, Language(language))


@contextmanager
def installed_custom_actions(
    folder: Path, declared: Sequence[CustomAction], values: Mapping[str, str]
) -> "Iterator[tuple[Runtime, FakeClock]]":
    """Yield an installation in a folder that offers custom actions, with its clock."""
    group = Group(GROUP)
    told = CustomValues(dict(values))
    group.actions = [each.offer(told, most_seconds=LONGEST_SECONDS) for each in declared]
    with simulated_local_installation(folder, 1) as (runtime, clock):
        actions = Registry((*GROUPS, group), runtime.skills, described=group.names())
        yield replace(runtime, models=ScriptedModels(), actions=actions), clock


def _script_answer(reply: str | ModelCall) -> ScriptedAnswer:
    if isinstance(reply, str):
        return ScriptedAnswer(text=reply)
    return ScriptedAnswer(calls=(ScriptedCall(reply.name, dict(reply.arguments)),))


def _house_call(record: CallResult) -> HouseCall:
    result = record.result
    return HouseCall(
        name=record.name,
        state=record.state.value,
        data=result.data,
        error=result.error or "",
        tainted=result.taint,
    )
