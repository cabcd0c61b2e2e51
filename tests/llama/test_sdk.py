"""Our wires beside the vendors' own libraries: same server, same request, same answer read."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.providers.transport.http_connections import HttpConnections
from opencrab.adapters.providers.transport.http_transport import HttpTransport
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.ports.models.model import CallReturn, ChatMessage, ChatRequest
from tests.llama.asking import FORMATS, RESPONSES, SPEAK, Format, Parting, acting, asked
from tests.llama.server import LlamaServer

pytest_plugins = ["tests.llama.fixture"]

SCRIPT = Path(__file__).with_name("sdk.py")
CALL = ActionCall(id="c1_0", name=SPEAK.name, arguments={"content": "蟹です 🦀", "tone": "glad"})
REQUESTS: Mapping[str, ChatRequest] = {
    "words": asked(temperature=0.9, stop=("🦀",)),
    "calls": acting(max_output_tokens=100),
    "history": asked(
        ChatMessage("user", "話して。 Speak up.", name="rin"),
        ChatMessage("assistant", "", calls=(CALL,)),
        CallReturn(CALL.id, CALL.name, '{"done":"話しました"}'),
        actions=(SPEAK,),
    ),
}
Both = tuple[ModelAnswer, dict[str, Any], bytes]
"""What we read, what the library read, and the body that we made."""

WAYS = ("whole", "stream", "bytes")
every_way = pytest.mark.parametrize("way", WAYS)
every_request = pytest.mark.parametrize("request_name", REQUESTS)
SPOKEN = (*FORMATS, RESPONSES)
every_format = pytest.mark.parametrize("spoken", SPOKEN, ids=lambda each: each.kind)


@pytest.fixture(scope="module")
def read(sdk: Path, seeded: LlamaServer) -> dict[tuple[str, str, str], Both]:
    """Every request in every format and way, by us and by the library, which is loaded once."""
    ours: dict[tuple[str, str, str], tuple[ModelAnswer, bytes]] = {}
    jobs = []
    with HttpConnections() as client:
        for spoken in SPOKEN:
            for name, request in REQUESTS.items():
                for way in WAYS:
                    model = spoken.model(
                        seeded, Parting(HttpTransport(client)), stream=way == "stream"
                    )
                    body = model.encode(request)
                    ours[spoken.kind, name, way] = model.chat(request, body), body
                    url = spoken.endpoint(seeded).base_url
                    jobs.append({"kind": spoken.kind, "url": url, "way": way})
                    jobs[-1]["body"] = body.decode()
    theirs = _read_by_the_libraries(sdk, jobs)
    pairs = zip(ours.items(), theirs, strict=True)
    return {key: (answer, their, body) for (key, (answer, body)), their in pairs}


def _read_by_the_libraries(python: Path, jobs: list[dict[str, str]]) -> list[dict[str, Any]]:
    run = subprocess.run(
        [str(python), "-W", "ignore", str(SCRIPT)],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env={},
    )
    assert run.returncode == 0, run.stderr[-2_000:]
    done: list[dict[str, Any]] = json.loads(run.stdout)
    return done


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


@every_way
@every_request
@every_format
def test_the_library_reads_what_we_read(
    read: dict[tuple[str, str, str], Both], spoken: Format, request_name: str, way: str
) -> None:
    answer, their, _ = read[spoken.kind, request_name, way]
    assert (answer.finish, answer.model) == (their["finish"], their["model"])
    assert [answer.usage.input_tokens, answer.usage.output_tokens] == their["usage"]
    words = answer.text or (answer.thought.intent if answer.thought else "")
    assert words == their["text"].strip()
    calls = [[call.name, call.arguments] for call in answer.calls]
    theirs = [[name, _arguments(arguments)] for name, arguments in their["calls"]]
    assert len(calls) == len(theirs)
    # The last of a cut answer may be cut itself: we take it for unreadable where nothing tells.
    end = -1 if answer.finish == spoken.length else None
    assert calls[:end] == theirs[:end]
    assert bool(calls) == (request_name == "calls")
    assert words or request_name != "words"


@every_request
@every_format
def test_the_server_takes_our_very_bytes_from_the_library(
    read: dict[tuple[str, str, str], Both], spoken: Format, request_name: str
) -> None:
    _, their, body = read[spoken.kind, request_name, "bytes"]
    assert their["sent"] == [body.decode()]


@pytest.mark.parametrize("way", ["whole", "stream"])
@every_request
@every_format
def test_the_library_would_send_what_we_send(
    read: dict[tuple[str, str, str], Both], spoken: Format, request_name: str, way: str
) -> None:
    _, their, body = read[spoken.kind, request_name, way]
    assert [json.loads(sent) for sent in their["sent"]] == [json.loads(body)]
