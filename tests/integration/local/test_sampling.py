"""Sampling of an agent, set over REST on a running installation, as OpenAI's server receives it."""

from pathlib import Path

from opencrab.adapters.providers.scripted.script import ScriptedAnswer
from tests.contract.speaking import VENDORS
from tests.running import server
from tests.unit.adapters.providers.stub import Canned, Received, serving

OPENAI = VENDORS["openai"]


def answer(request: Received) -> Canned:
    """A streamed answer, or the list of models."""
    if request.method == "GET":
        return Canned(body=b'{"data": [{"id": "gpt-5.2"}, {"id": "gpt-4o"}]}')
    body = OPENAI.stream(ScriptedAnswer(text="はい。Yes."))
    return Canned(body=body, headers={"content-type": OPENAI.kind})


def test_a_vendor_is_sent_what_the_owner_set_and_the_model_takes(tmp_path: Path) -> None:
    with serving(answer) as vendor:
        more = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": f"{vendor.url}/v1"}
        with server(tmp_path / "data", more=more) as running:
            agent = running.call("POST", "/agents", {"name": "葵", "language": "ja"})["id"]
            place = f"/agents/{agent}/llm/config"
            own = {"temperature": 0.25, "max_output_tokens": 900, "reasoning_effort": "low"}
            set_here = running.call("PUT", place, {"sampling": {"conversation": own}})
            told = set_here["effective"]["conversation"]
            session = running.call("POST", "/sessions", {"participants": [agent]})["id"]
            assert running.say(session, "こんにちは")["replies"][0]["text"] == "はい。Yes."
            running.call(
                "PUT", place, {"model": "openai:gpt-4o", "sampling": {"conversation": own}}
            )
            running.say(session, "もう一度")
    first, second = (one.json for one in vendor.received if one.path.endswith("/completions"))
    # The default model reasons: it is told the effort, and no temperature, which it refuses.
    assert told["model"] == "openai:gpt-5.2"
    assert told["sampling"] == {**own, "temperature": None, "top_p": None}
    assert (first["max_completion_tokens"], first["reasoning_effort"]) == (900, "low")
    assert not {"temperature", "top_p", "max_tokens"} & first.keys()
    assert (second["max_tokens"], second["temperature"]) == (900, 0.25)
    assert not {"reasoning_effort", "top_p", "max_completion_tokens"} & second.keys()
