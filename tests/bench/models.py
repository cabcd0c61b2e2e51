"""What a model call costs beside the network: choosing, encoding, reading, and the first import."""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

from opencrab.adapters.providers.scripted.script import ScriptedAnswer
from opencrab.adapters.providers.transport.exchange import (
    IsStopped,
    OpenReply,
    Reply,
    provider_exchange_never_stopped,
)
from opencrab.adapters.providers.vendor import VendorModel
from opencrab.adapters.providers.wire.wire import Endpoint
from opencrab.domain.agents.agent import Agent
from opencrab.domain.models.routing import Routing, RoutingBasis
from opencrab.domain.turn.record import ActionCall
from opencrab.domain.turn.task_type import turn_think_context
from opencrab.domain.turn.turn import Trigger
from opencrab.engine.models import router
from opencrab.ports.models.model import (
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatRequest,
    ModelInfo,
)
from tests.bench.turns import cpu_ms
from tests.contract.speaking import VENDORS, Vendor
from tests.unit.engine.known_models import Known

MESSAGES = 20
ACTIONS = 25
CALLS = 250
_NOW = datetime(2026, 11, 21, tzinfo=UTC)
_ANSWER = ScriptedAnswer(text="今日のメモを書きました。" * 8)
_IMPORTS = """
import json, resource, sys
import opencrab.engine.models.router
import opencrab.adapters.providers.vendor
import opencrab.adapters.providers.{module}
{http}
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps((used.ru_utime + used.ru_stime) * 1000))
"""
_HTTP = "import opencrab.adapters.providers.transport.http_transport"
_NOTHING = _IMPORTS.split("import opencrab", maxsplit=1)[0] + _IMPORTS.split("{http}")[1]


class _Memory:
    """A transport without a network."""

    def __init__(self, body: bytes, kind: str) -> None:
        self._body = body
        self._headers = {"content-type": kind}

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        return Reply(200, self._body, self._headers)

    @contextmanager
    def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        timeout_seconds: float,
        is_stopped: IsStopped = provider_exchange_never_stopped,
    ) -> Iterator[OpenReply]:
        yield OpenReply(200, self._headers, iter((self._body,)))


def request(messages: int = MESSAGES, actions: int = ACTIONS) -> ChatRequest:
    """A conversation with calls in it, in Japanese, and so many actions."""
    schema = {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": False,
    }
    turns: list[ChatMessage | CallReturn] = []
    for place in range(messages // 4):
        call = ActionCall(id=f"c{place}_0", name="action_1", arguments={"path": "メモ.txt"})
        turns += [
            ChatMessage("user", f"{place}番目の質問です。今日の予定をメモに書いてください。"),
            ChatMessage("assistant", "", calls=(call,)),
            CallReturn(call.id, call.name, '{"done": true}'),
            ChatMessage("assistant", "書きました。ほかに何かありますか。"),
        ]
    listed = tuple(
        ActionSchema(name=f"action_{n}", description="ファイルに書きます。", parameters=schema)
        for n in range(actions)
    )
    return ChatRequest("crab-1", listed, "あなたは蟹です。" * 40, tuple(turns), 2_048)


def call_ms(vendor: Vendor) -> float:
    """CPU of one call: choose the model, encode the request, read the streamed answer."""
    endpoint = Endpoint("crab", "https://crab.example/v1", "key-of-nobody")
    transport = _Memory(vendor.stream(_ANSWER), vendor.kind)
    info = ModelInfo(name="crab:crab-1")
    model = VendorModel(vendor.wire(), endpoint, "crab-1", info, transport)
    models = Known((model,), Routing(default="crab:crab-1", fallback=("crab:crab-1",)))
    agent = Agent(id="a", name="蟹", created_at=_NOW, updated_at=_NOW)
    asked = request()

    def call() -> None:
        use = turn_think_context("今日の予定をメモに書いてください。", Trigger.MESSAGE).use
        leader, _ = router.first_routed_model(models, use, RoutingBasis(), ())
        listed = router.fallback_models(models, leader, agent)
        picked = router.pick_model(listed, (), {}, _NOW)
        assert picked is not None
        picked.model.chat(asked, picked.model.encode(asked))

    call()
    return cpu_ms(call, CALLS)


def dearest_call() -> tuple[str, float]:
    """The vendor whose calls cost the most, and how much."""
    found = {name: call_ms(vendor) for name, vendor in VENDORS.items()}
    name = max(found, key=lambda each: found[each])
    return name, found[name]


def growth() -> float:
    """Encoding ten times the messages, as a multiple of ten times the time: 1 is linear."""
    vendor = VENDORS["anthropic"]
    model = VendorModel(
        vendor.wire(),
        Endpoint("crab", "https://crab.example/v1"),
        "crab-1",
        ModelInfo(name="crab:crab-1"),
        _Memory(b"", ""),
    )
    short, long = request(100, 0), request(1_000, 0)
    return cpu_ms(lambda: model.encode(long), 25) / cpu_ms(lambda: model.encode(short), 250) / 10


def import_ms(module: str = "anthropic", *, network: bool = False) -> float:
    """CPU of importing router and one provider in a new interpreter, without the interpreter."""
    code = _IMPORTS.format(module=module, http=_HTTP if network else "")
    return _process_ms(code) - _process_ms(_NOTHING)


def _process_ms(code: str) -> float:
    return statistics.median(
        float(json.loads(subprocess.check_output([sys.executable, "-c", code]))) for _ in range(5)
    )
