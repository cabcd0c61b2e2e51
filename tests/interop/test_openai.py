"""OpenAI's own Python client talks to a running OpenCrab."""

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.local.test_flow import Speaker
from tests.running import KEY, server
from tests.unit.adapters.providers.dripping import heard, listening

CLIENT = Path(__file__).with_name("openai_client.py")
TOOLS_CLIENT = Path(__file__).with_name("openai_tools_client.py")
SCRIPT = """
[[answers]]
when = "tide"
calls = [
    {name = "client__tide", arguments = '{"place": "潮岬"}'},
    {name = "client__tide", arguments = '{"place": "reef"}'},
]
[[answers]]
when = "tide"
text = "六時です🌊"
"""

pytest_plugins = ["tests.llama.fixture"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def steps(sdk: Path, port: int, *more: str, program: Path = CLIENT) -> Iterator[dict[str, Any]]:
    """What the client tells, as it tells it."""
    command = [str(sdk), str(program), f"http://127.0.0.1:{port}", KEY, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for row in process.stdout:
            yield json.loads(row)
    assert process.returncode == 0


def test_it_lists_talks_streams_and_reads_errors(sdk: Path, tmp_path: Path) -> None:
    with server(tmp_path / "data") as running:
        running.call("POST", "/agents", {"name": "蟹", "language": "ja"})
        told = list(steps(sdk, running.port))
    models, first, second, *streamed = told
    assert models == {"models": ["蟹"]}
    assert first["said"] == "潮が満ちました"
    assert second == {"said": "the tide is out", "session": first["session"]}
    assert "".join(each.get("words", "") for each in streamed) == "波🦀 and foam"
    assert [each["total"] > 0 for each in streamed if "total" in each] == [True]
    assert [each for each in streamed if not {"words", "total", "error"} & set(each)] == [
        {"response": "干潮です", "status": "completed"},
        {"streamed": "波🦀 again", "whole": "波🦀 again", "tokens": True},
        {"later": "soon", "cancelled": "completed"},
        {"unknown": "previous_response_id"},
    ]
    assert [each for each in streamed if "error" in each] == [
        {"error": "NotFoundError", "code": "not-found", "param": "model"},
        {"error": "UnprocessableEntityError", "code": "invalid", "param": "n"},
        {"error": "AuthenticationError", "code": "unauthenticated"},
    ]


def vector_vendor(connection: socket.socket, _number: int) -> None:
    """A vendor of vectors, one number for each text: its characters."""
    request = heard(connection)
    texts = json.loads(request.partition(b"\r\n\r\n")[2])["input"]
    entries = [{"index": n, "embedding": [0.5, len(text)]} for n, text in enumerate(texts)]
    body = json.dumps({"data": entries, "usage": {"prompt_tokens": 7}}).encode()
    head = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n"
    connection.sendall(head + b"content-length: %d\r\n\r\n%s" % (len(body), body))


def test_words_arrive_while_the_model_still_speaks_and_texts_become_vectors(
    sdk: Path, tmp_path: Path
) -> None:
    speaker = Speaker()
    with listening(speaker) as vendor, listening(vector_vendor) as vectors:
        more = {
            "OPENCRAB_LLM__PROVIDERS__VLLM__BASE_URL": f"{vendor.url}/v1",
            "OPENCRAB_LLM__PROVIDERS__LMSTUDIO__BASE_URL": f"{vectors.url}/v1",
            "OPENCRAB_LLM__MODELS__EMBEDDING": "lmstudio:short",
        }
        with server(tmp_path / "data", more=more) as running:
            running.call("POST", "/agents", {"name": "蟹", "model": "vllm:slow"})
            told = list(steps(sdk, running.port, "--embed"))
            assert told == [
                {"format": None, "vectors": [[0.5, 2.0], [0.5, 4.0]], "model": "lmstudio:short"},
                {"format": "float", "vectors": [[0.5, 2.0], [0.5, 4.0]], "model": "lmstudio:short"},
                {"tokens": 7, "refused": "dimensions"},
            ]
            said = ""
            for step in steps(sdk, running.port, "こんにちは"):
                said += step.get("words", "")
                if "みっつ🦀" in said:
                    speaker.goes_on.set()
        speaker.hung_up.set()
    assert said == "ひとつ two みっつ🦀 end"


def test_it_runs_its_own_tools_for_an_agent(sdk: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text(SCRIPT, encoding="utf-8")
    with server(tmp_path / "data", script=script) as running:
        running.call("POST", "/agents", {"name": "蟹", "language": "ja"})
        told = list(steps(sdk, running.port, program=TOOLS_CLIENT))
    assert told == [
        {"finish": "tool_calls", "said": None},
        {"finish": "stop", "said": "六時です🌊"},
        {"streamed": "tide", "arguments": '{"place": "潮岬"}', "said": "六時です🌊"},
        {"calls": ["tide", "tide"], "status": "completed", "said": "六時です🌊"},
        {"refused": "tool_choice"},
    ]
