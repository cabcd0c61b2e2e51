"""What happens when nothing goes wrong: agents with scripts, and people who talk to them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.conversation.message import (
    Audience,
    Channel,
    Instruction,
    Line,
    LineKind,
    Message,
    Sender,
    TextPart,
)
from opencrab.domain.identifier import stable_id
from opencrab.domain.models.fault import Fault
from opencrab.domain.money.budget import Limits
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.interrupt import Interrupt
from opencrab.domain.turn.turn import Turn
from opencrab.engine.runtime import Rules, Runtime
from opencrab.engine.turn import admission, control
from opencrab.ports.turn.journal import RECORD_BYTES
from tests.crash.outside import (
    DEAD_LINE,
    HOPELESS,
    LOST,
    TEAR,
    TURNED_AWAY,
    TWICE_LOST,
    Reply,
    Script,
)

RULES = Rules(
    limits=Limits(
        turn_micro_usd=200_000,
        agent_day_micro_usd=1_000_000,
        installation_day_micro_usd=2_000_000,
        block_micro_usd=20_000,
    )
)


class Scene(Protocol):
    """What a client knows of the run that it takes part in."""

    runtime: Runtime
    session_id: str

    def acknowledged(self, turns: tuple[Turn, ...]) -> None:
        """These turns were promised to somebody."""

    @property
    def promised(self) -> tuple[str, ...]:
        """The turns that were acknowledged to clients of this scene."""

    @property
    def waiting(self) -> tuple[str, ...]:
        """The turns of this scene that wait for a decision."""

    @property
    def waits(self) -> int:
        """How often a turn of this scene began to wait."""

    @property
    def calls_received(self) -> int:
        """How many model calls there have been."""


@dataclass(frozen=True)
class Client:
    """Somebody outside; `when` holds it back, and a killed one does `act` again at the end."""

    name: str
    act: Callable[[Scene], None]
    when: Callable[[Scene], bool] | None = None


@dataclass(frozen=True)
class Scenario:
    """Agents, clients, rules, and how each turn ends when nothing goes wrong.

    There is a `fallback` only while nobody else is on the stage.
    """

    name: str
    scripts: tuple[Script, ...]
    clients: tuple[Client, ...]
    ends: tuple[str, ...]
    turns: int = 1
    policy: ApprovalPolicy = ApprovalPolicy.GUARDED
    interrupt: Interrupt = Interrupt.AFTER_STEP
    rules: Rules = RULES
    day_limit: int | None = None
    wall_failures: int = 0
    may_end: tuple[str, ...] = field(default=())
    fallback: tuple[str, ...] = ()


def says(
    text: str, source_id: str = "m1", channel: str | None = None, *, again: bool = False
) -> Callable[[Scene], None]:
    """Send a message, perhaps twice, and take note of the turns that were promised."""

    def act(scene: Scene) -> None:
        for _ in range(2 if again else 1):
            turns = admission.admit_turns_of_message(
                scene.runtime, scene.session_id, message(text, source_id, channel)
            )
            scene.acknowledged(turns)

    return act


def message(text: str, source_id: str, channel: str | None = None) -> Message:
    """A message of the owner over REST."""
    return Message(
        source=Source.REST,
        source_id=source_id,
        principal_id="owner",
        sender=Sender(id="owner", name="Owner"),
        authority=Authority.OWNER,
        parts=(TextPart(text=text),),
        channel=Channel(kind=channel, address="room") if channel else None,
    )


def cancels(scene: Scene) -> None:
    """The owner stops every turn that was promised, or that asks for a decision."""
    for turn_id in sorted({*scene.promised, *scene.waiting}):
        control.stop_turn(scene.runtime, turn_id, by="owner")


def decides(*, approved: bool) -> Callable[[Scene], None]:
    """The owner decides what waits."""

    def act(scene: Scene) -> None:
        for turn_id in scene.waiting:
            control.decide_waiting_turn(scene.runtime, turn_id, approved=approved, by="owner")

    return act


def instructs(scene: Scene) -> None:
    """The owner whispers to the agents."""
    now = scene.runtime.clock.now()
    line = Line(
        session_id=scene.session_id,
        group="mentor",
        kind=LineKind.SPEECH,
        audience=Audience.AGENTS,
        speaker_id="owner",
        speaker_name="Owner",
        authority=Authority.OWNER,
        text="be brief",
        at=now,
    )
    key = stable_id("instruction", scene.session_id)
    instruction = Instruction(
        id=key, session_id=scene.session_id, text="be brief", by="owner", at=now
    )
    admission.admit_guidance_for_turns(scene.runtime.home, instruction, line)


def schedules(scene: Scene) -> None:
    """Somebody leaves a message for later."""
    item = DueItem(
        id=f"due-{scene.session_id}",
        at=scene.runtime.clock.now(),
        session_id=scene.session_id,
        message=message("it is time", "due-1"),
    )
    scene.runtime.home.due.put(item)


def after_calls(count: int) -> Callable[[Scene], bool]:
    """Hold a client back until the model was called so often and somebody was promised a turn."""
    return lambda scene: scene.calls_received >= count and bool(scene.promised)


def waited(times: int) -> Callable[[Scene], bool]:
    """Hold a client back until a turn waits, for the given time."""
    return lambda scene: scene.waits >= times and bool(scene.waiting)


def _calls(*calls: tuple[str, dict[str, Any]]) -> Reply:
    return Reply(calls=calls)


def _write(content: str, path: str = "notes.md") -> tuple[str, dict[str, Any]]:
    return "ws_write", {"path": path, "content": content}


def _speak(content: str, *, more: bool) -> tuple[str, dict[str, Any]]:
    return "send_speech", {"content": content, "more": more}


_RING: tuple[str, dict[str, Any]] = ("ring_bell", {})
_READ: tuple[str, dict[str, Any]] = ("ws_read", {"path": "notes.md"})
_LIST: tuple[str, dict[str, Any]] = ("ws_list", {})

TEXT: Script = (Reply("hello there"),)
WRITE: Script = (_calls(_write("one")), Reply("written"))
LONG: Script = (
    _calls(_write("first")),
    _calls(_speak("working on it", more=True)),
    _calls(_READ, _LIST),
    _calls(_RING),
    _calls(_write("second")),
    Reply("all done"),
)
PARALLEL: Script = (
    _calls(_LIST, _write("a"), _speak("in between", more=True), _RING, _write("b"), _READ),
    Reply("finished"),
)
GUARDED: Script = (
    _calls(_speak("may I?", more=True)),
    _calls(_write("approved"), _RING, _LIST),
    _calls(_RING),
    Reply("thank you"),
)
CROWDED: Script = (
    _calls(_LIST, _write("x"), _LIST, _READ, _LIST, _READ, _LIST, _READ, _LIST),
    Reply("so many"),
)
SPOKEN: Script = (
    _calls(_write("kept")),
    Reply("one two three four five six", streamed=True),
)
SILENT: Script = (_calls(("generate_inner_voice", {"content": "hm"})), _calls(("declare_done", {})))
SHAKY: Script = (
    Reply(calls=(_write("kept"),), fails=LOST),
    Reply("after a dead line", fails=DEAD_LINE),
)
HELPLESS: Script = (Reply("never", fails=TWICE_LOST * 8),)
REFUSED: Script = (_calls(_write("kept")), Reply("never", fails=HOPELESS * 16))
TALK: Script = (
    _calls(_speak("one moment", more=True)),
    _calls(_speak("still on it", more=True)),
    Reply("there you are"),
)
LECTURE: Script = (
    _calls(_speak(f"first{TEAR}second{TEAR}third", more=True)),
    Reply(f"fourth{TEAR}fifth"),
)
THINKER: Script = (
    Reply(calls=(_LIST, _write("thought")), ponders=RECORD_BYTES),
    Reply("I thought about it"),
)
SPARE: Script = (Reply("I stand in"), Reply("I was chosen"))
_CHOICE = {
    "purpose": "tool_calling",
    "model_alias": "spare",
    "reason": "難しい",
    "duration": "permanent",
}
CHOOSER: Script = (_calls(("select_llm", _CHOICE)), Reply("never"))
ILL: Script = (Reply("never", fails=(Fault.OVERLOADED,) * 16),)
BUSY: Script = (_calls(_write("kept")), Reply("at last", fails=TURNED_AWAY * 2))
SPENDER: Script = tuple(_calls(_write(f"page {page}")) for page in range(8))

SCENARIOS: tuple[Scenario, ...] = (
    Scenario("text", (TEXT,), (Client("user", says("hi")),), ("completed",)),
    Scenario("again", (TEXT,), (Client("user", says("hi", again=True)),), ("completed",)),
    Scenario("write", (WRITE,), (Client("user", says("note it")),), ("completed",)),
    Scenario("long", (LONG,), (Client("user", says("work")),), ("completed",)),
    Scenario("parallel", (PARALLEL,), (Client("user", says("all at once")),), ("completed",)),
    Scenario(
        "approved",
        (GUARDED,),
        (
            Client("user", says("do it")),
            Client("owner", decides(approved=True), waited(1)),
            Client("owner-2", decides(approved=True), waited(2)),
        ),
        ("completed",),
        policy=ApprovalPolicy.STRICT,
    ),
    Scenario(
        "rejected",
        (GUARDED,),
        (Client("user", says("do it")), Client("owner", decides(approved=False), waited(1))),
        ("stopped",),
        policy=ApprovalPolicy.STRICT,
    ),
    Scenario(
        "withdrawn",
        (GUARDED,),
        (Client("user", says("do it")), Client("owner", cancels, waited(1))),
        ("stopped",),
        policy=ApprovalPolicy.STRICT,
    ),
    Scenario(
        "crowded",
        (CROWDED,),
        (Client("user", says("do it")),),
        ("waiting",),
        policy=ApprovalPolicy.STRICT,
    ),
    Scenario(
        "cancelled",
        (LONG,),
        (Client("user", says("work")), Client("owner", cancels, after_calls(2))),
        ("stopped",),
        may_end=("completed",),
    ),
    Scenario(
        "cut",
        (SPOKEN,),
        (
            Client("user", says("speak")),
            Client("owner", cancels, after_calls(2)),
        ),
        ("stopped",),
        rules=replace(RULES, stop_check_ms=0),
        may_end=("completed",),
    ),
    Scenario(
        "silenced",
        (SILENT,),
        (Client("user", says("think")), Client("owner", cancels, after_calls(2))),
        ("stopped",),
        may_end=("completed",),
    ),
    Scenario("silent", (SILENT,), (Client("user", says("think")),), ("completed",)),
    Scenario("shaky", (SHAKY,), (Client("user", says("try")),), ("completed",)),
    Scenario("helpless", (HELPLESS,), (Client("user", says("try")),), ("failed",)),
    Scenario("chooser", (CHOOSER,), (Client("user", says("choose")),), ("completed",)),
    Scenario("busy", (BUSY,), (Client("user", says("try")),), ("completed",)),
    Scenario(
        "replaced",
        (ILL,),
        (Client("user", says("try")),),
        ("completed",),
        may_end=("failed",),
        fallback=("spare",),
    ),
    Scenario("refused", (REFUSED,), (Client("user", says("try")),), ("failed",)),
    Scenario(
        "poor",
        (SPENDER,),
        (Client("user", says("spend")),),
        ("exhausted",),
        day_limit=6_500,
    ),
    Scenario(
        "three",
        (TEXT, WRITE, SILENT),
        (Client("user", says("all of you", again=True)),),
        ("completed",),
        turns=3,
    ),
    *(
        Scenario(
            name,
            (script,),
            (Client("user", says("hi", channel=channel)),),
            ("completed",),
            wall_failures=2,
        )
        for name, script, channel in (
            ("pushed", TALK, "repeatable"),
            ("plain", TALK, "plain"),
            ("torn-repeatable", LECTURE, "repeatable"),
            ("torn-plain", LECTURE, "plain"),
        )
    ),
    Scenario(
        "mentored",
        (WRITE,),
        (Client("user", says("note it")), Client("mentor", instructs, after_calls(1))),
        ("completed",),
    ),
    *(
        Scenario(
            name,
            (script,),
            (
                Client("first", says("one", "m1")),
                Client("second", says("two", "m2"), after_calls(calls)),
            ),
            ends,
            turns=2,
            interrupt=interrupt,
            rules=replace(RULES, stop_check_ms=0),
        )
        for name, script, calls, ends, interrupt in (
            ("two", WRITE, 1, ("completed",), Interrupt.QUEUE),
            ("overtaken", LONG, 2, ("stopped", "completed"), Interrupt.AFTER_STEP),
            ("overtaken-at-once", SPOKEN, 2, ("stopped", "completed"), Interrupt.AT_ONCE),
        )
    ),
    Scenario("large", (THINKER,), (Client("user", says("think")),), ("completed",)),
    Scenario("due", (TEXT,), (Client("clock", schedules),), ("completed",)),
)
