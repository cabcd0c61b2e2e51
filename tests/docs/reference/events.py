"""The page of all live events, of server-sent events, and of the frames of a WebSocket."""

import ast
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, get_args

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.message import REPLY_TO, Audience, Line, LineKind
from opencrab.domain.errors import Refused
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.conversation import answer_events, live_events
from opencrab.engine.conversation.live_events import Event
from opencrab.gateways.rest.conversation import server_sent_events
from opencrab.gateways.rest.conversation.lines import LineView
from opencrab.gateways.rest.goals.task_views import TaskView
from opencrab.gateways.rest.http.problem import Problem
from opencrab.gateways.websocket import dispatch, requests
from opencrab.ports.conversation.answers import AnswerPart, CallProgress
from tests.architecture.source import Module, modules
from tests.docs.reference.section import Section, text_of

_AT = datetime(2026, 2, 17, 9, tzinfo=UTC)
_TYPE = re.compile(r"[A-Z]{2,}(_[A-Z]+)*")
_SENT = re.compile(r"event: (\w+)\\ndata")
_LISTED = {"line", "progress"}
_BELOW = {Language.EN: "see below", Language.JA: "下の表"}
_SHARED = {"type", "timestamp", "metadata"}


def page(language: Language) -> str:
    """The page in one language."""
    return text_of("events", sections(language), language)


def sections(language: Language) -> list[Section]:
    """Everything that the page has."""
    live = {name: (_shown(name), _codes(fields)) for name, fields in live_fields().items()}
    below = _BELOW[language]
    sent = {
        name: (f"`{name}`", _codes(fields) if name not in _LISTED else below)
        for name, fields in sent_fields().items()
    }
    asked = {kind: (f"`{kind}`", _codes(fields)) for kind, fields in frame_fields().items()}
    answered = {kind: (f"`{kind}`", _codes(fields)) for kind, fields in reply_fields().items()}
    return [
        Section("live", live),
        Section("metadata", _named(metadata_fields())),
        Section("sse", sent),
        Section("line", _named(LineView.model_fields)),
        Section("progress", _named(TaskView.model_fields)),
        Section("frame", asked),
        Section("reply", answered),
        Section("answer", _named(answer_fields())),
    ]


def live_fields() -> dict[str, list[str]]:
    """Every live event with its own fields, those inside its value and outcome included."""
    found = dict[str, dict[str, None]]()
    for event in _samples():
        name = f"{event['type']} {event['name']}" if _custom(event) else str(event["type"])
        found.setdefault(name, {}).update(dict.fromkeys(_fields(event)))
    return {name: list(fields) for name, fields in found.items()}


def named_events() -> set[str]:
    """Every type of event that the module writes, and every name of a CUSTOM one."""
    (module,), (answers,) = _modules(live_events.__name__), _modules(answer_events.__name__)
    nodes = (*module.nodes, *answers.nodes)
    texts = (node.value for node in nodes if isinstance(node, ast.Constant))
    types = {text for text in texts if isinstance(text, str) and _TYPE.fullmatch(text)}
    names = {
        getattr(live_events, ast.unparse(call.args[0]))
        for call in module.nodes
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "_custom"
    }
    return (types - {"CUSTOM"}) | {f"CUSTOM {name}" for name in names}


def metadata_fields() -> list[str]:
    """What the metadata of events may have."""
    return list(dict.fromkeys(name for event in _samples() for name in event["metadata"]))


def sent_fields() -> dict[str, Iterable[str]]:
    """Every named server-sent event with the fields of its data."""
    known: dict[str, Iterable[str]] = {
        "line": LineView.model_fields,
        "turn": _dictionary(server_sent_events.__name__, "told"),
        "answer": _dictionary(server_sent_events.__name__, "said"),
        "call_progress": _dictionary(server_sent_events.__name__, "moved"),
        "progress": TaskView.model_fields,
        "problem": Problem.model_fields,
    }
    rest = (each for each in modules() if ".gateways.rest." in each.name)
    names = sorted({name for module in rest for name in _SENT.findall(module.text)})
    return {name: known.get(name, ()) for name in names}


def frame_fields() -> dict[str, list[str]]:
    """Every frame that a client may send, with its fields; `?` marks those that may be left out."""
    found = {}
    for wish in get_args(requests.WebSocketRequest):
        fields = dict(wish.model_fields)
        (kind,) = get_args(fields.pop("type").annotation)
        found[kind] = [f"{n}{'' if f.is_required() else '?'}" for n, f in fields.items()]
    return found


def reply_fields() -> dict[str, list[str]]:
    """Every frame of the server that is no event, with its fields."""
    whole = dispatch.websocket_frame_problem(
        Refused("no", field="text", cure="ask"), Language.EN, "1"
    )
    (module,) = _modules(dispatch.__name__)
    (answering,) = (each for each in module.functions if each.name == "answer_websocket_frame")
    kinds = [
        value
        for node in ast.walk(answering)
        if isinstance(node, ast.Dict)
        for key, part in zip(node.keys, node.values, strict=True)
        if key is not None and ast.unparse(key) == "'type'"
        for value in _texts(part)
    ]
    return {kind: ["id"] for kind in kinds} | {whole["type"]: [k for k in whole if k != "type"]}


def answer_fields() -> list[str]:
    """What an answer may say beside its id."""
    (module,) = _modules(dispatch.__name__)
    return [
        str(ast.literal_eval(key))
        for function in module.functions
        if function.name not in {"answer_websocket_frame", "websocket_frame_problem"}
        for node in ast.walk(function)
        if isinstance(node, ast.Dict)
        for key in node.keys
        if key is not None
    ]


def _samples() -> Iterator[Event]:
    """One of every event that there is."""
    for kind in LineKind:
        for audience in Audience:
            for from_agent in (False, True):
                yield from live_events.events_of_session_line(
                    _line(kind, audience, from_agent=from_agent)
                )
    for status in TurnStatus:
        yield from live_events.live_session_events_of_turn(_moved(status))
    yield live_events.session_event_for_gap("s", 1, 9, _AT)
    answers = answer_events.AnswerEvents()
    progress = CallProgress("mcp__crab__dig", 1, 4, "digging")
    yield from answers.of_part(AnswerPart("s", "a", "t", 0, progress=progress), _AT)
    yield from answers.of_part(AnswerPart("s", "a", "t", 1, "Hello"), _AT)
    yield from answers.of_turn("t", _AT)


def _line(kind: LineKind, audience: Audience, *, from_agent: bool) -> Line:
    return Line(
        session_id="s",
        group="g",
        kind=kind,
        audience=audience,
        speaker_id="a",
        speaker_name="Rowan",
        from_agent=from_agent,
        authority=Authority.OWNER,
        text="Hello",
        data={"images": ["workspace:a.png"], REPLY_TO: 1},
        turn_id="t",
        message_id="m",
        at=_AT,
    )


def _moved(status: TurnStatus) -> live_events.TurnMoved:
    turn = Turn(
        id="t",
        agent_id="a",
        session_id="s",
        trigger=Trigger.MESSAGE,
        source=Source.REST,
        authority=Authority.OWNER,
        principal_id="p",
        group="g",
        body_hash="h",
        created_at=_AT,
    )
    return live_events.TurnMoved(turn=turn, status=status, at=_AT)


def _custom(event: Event) -> bool:
    return str(event["type"]) == "CUSTOM"


def _fields(event: Event) -> Iterator[str]:
    left_out = _SHARED | ({"name"} if _custom(event) else set())
    for name, value in event.items():
        if name not in left_out:
            inner = value if isinstance(value, dict) else {}
            yield from (f"{name}.{each}" for each in inner) if inner else (name,)


def _shown(name: str) -> str:
    return " ".join(f"`{part}`" for part in name.split())


def _codes(fields: Iterable[str]) -> str:
    return ", ".join(f"`{field}`" for field in fields)


def _named(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    return {name: (f"`{name}`",) for name in names}


def _modules(name: str) -> list[Module]:
    return [module for module in modules() if module.name == name]


def _dictionary(module: str, name: str) -> list[str]:
    """The keys of a dictionary that a module assigns to a name."""
    return [
        str(ast.literal_eval(key))
        for found in _modules(module)
        for node in found.nodes
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
        if isinstance(node.value, ast.Dict)
        for key in node.value.keys
        if key is not None
    ]


def _texts(node: ast.AST) -> list[Any]:
    if isinstance(node, ast.IfExp):
        return _texts(node.body) + _texts(node.orelse)
    return [node.value] if isinstance(node, ast.Constant) else []
