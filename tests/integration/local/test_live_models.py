"""Live lists of models over REST and at the terminal: installed, missing, and a silent server."""

import time
from pathlib import Path

from tests.running import KEY, opencrab, server
from tests.unit.adapters.providers.stub import Canned, Received, serving


def installed(_: Received) -> Canned:
    """What Ollama says of its models."""
    return Canned(body=b'{"models": [{"model": "qwen3:8b"}, {"model": "gemma3:latest"}]}')


def silent(_: Received) -> Canned:
    """A server that takes a request and never answers."""
    return Canned(silent=True)


def test_models_are_listed_as_their_servers_have_them_and_a_silent_one_holds_up_nobody(
    tmp_path: Path,
) -> None:
    with serving(installed) as ollama, serving(silent) as dead:
        more = {
            "OLLAMA_HOST": ollama.url,
            "OPENCRAB_LLM__PROVIDERS__LMSTUDIO__BASE_URL": f"{dead.url}/v1",
            "OPENCRAB_LLM__MODELS__CREATIVE": "lmstudio:mine",
        }
        with server(tmp_path / "data", more=more) as running:
            begun = time.monotonic()
            listed = {one["name"]: one for one in running.call("GET", "/llm/models")["items"]}
            assert time.monotonic() - begun < 10
            here, missing = listed["ollama:qwen3:8b"], listed["ollama:llama3.1:8b"]
            assert (here["problem"], here["listed"], here["free"]) == ("", True, True)
            assert here["price"]["input_per_million"] == 0
            assert listed["ollama:gemma3:latest"]["listed"] is True
            assert missing["problem"] == "it is not installed: run `ollama pull llama3.1:8b`"
            # Whoever finds it silent names the provider or its address.
            problem = listed["lmstudio:mine"]["problem"]
            assert "lmstudio" in problem or dead.url in problem
            begun = time.monotonic()
            running.call("GET", "/llm/models?provider=ollama")
            assert time.monotonic() - begun < 2
            url = f"http://127.0.0.1:{running.port}"
            told = opencrab("--url", url, "--key", KEY, "models", "--provider", "ollama")
            assert "qwen3:8b" in told
