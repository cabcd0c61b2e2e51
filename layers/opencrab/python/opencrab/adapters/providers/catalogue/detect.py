"""Finding a language model that already runs on this computer: Ollama or llama.cpp."""

import json
from dataclasses import dataclass
from typing import Any

from opencrab.adapters.providers.transport.exchange import Transport
from opencrab.domain.models.fault import ModelCallFailed

OLLAMA_URL = "http://localhost:11434"
LLAMACPP_URL = "http://localhost:8080"
OLLAMA_MODEL = "llama3.1:8b"
UNNAMED_MODEL = "default"

_OK = 200
_LOADING = 503
_EMBEDDING_WORDS = ("embed", "bge-", "minilm", "rerank")


@dataclass(frozen=True)
class LocalServer:
    """A local model server that answered; `loading` means that its model is not ready yet.

    `input_tokens` is the context window it runs with; None if it does not report one.
    """

    provider: str
    base_url: str
    model: str
    input_tokens: int | None = None
    loading: bool = False


@dataclass(frozen=True)
class Detection:
    """The server that was found, if any, and notes on servers that cannot be used."""

    server: LocalServer | None
    notes: tuple[str, ...] = ()


def detect_servers_for_catalogue(
    transport: Transport,
    ollama_url: str = OLLAMA_URL,
    llamacpp_url: str = LLAMACPP_URL,
    *,
    preferred_model: str = OLLAMA_MODEL,
    timeout_seconds: float = 0.3,
) -> Detection:
    """Probe the default addresses of Ollama and llama.cpp; Ollama wins if both answer.

    Responses must have the expected form: OpenCrab's own REST server may use the port of llama.cpp,
    and any program may listen on it.
    """
    ask = _Questions(transport, timeout_seconds)
    found = _ollama(ask, ollama_url.rstrip("/").removesuffix("/v1"), preferred_model)
    if found.server is not None:
        return found
    other = _llamacpp(ask, llamacpp_url.rstrip("/").removesuffix("/v1"))
    return Detection(other, found.notes)


@dataclass(frozen=True)
class _Questions:
    """GET requests for JSON that treat every failure as no answer."""

    transport: Transport
    timeout_seconds: float

    def ask(self, url: str) -> tuple[int, dict[str, Any]]:
        """Return status code and JSON object.

        Status 0 without a response, {} for any other body.
        """
        try:
            reply = self.transport.send(url, headers={}, timeout_seconds=self.timeout_seconds)
        except ModelCallFailed:
            return 0, {}
        try:
            body = json.loads(reply.body)
        except (ValueError, RecursionError):
            return reply.status, {}
        return reply.status, body if isinstance(body, dict) else {}


def _ollama(ask: _Questions, url: str, preferred: str) -> Detection:
    status, body = ask.ask(f"{url}/api/tags")
    if status != _OK or not isinstance(body.get("models"), list):
        return Detection(None)
    names = [name for name in _names(body["models"], "name") if not _embeds(name)]
    if not names:
        note = f"Ollama runs at {url} but has no model yet: ollama pull {preferred}"
        return Detection(None, (note,))
    wanted = (preferred, f"{preferred}:latest")
    model = next((name for name in names if name in wanted), names[0])
    return Detection(LocalServer("ollama", url, model, _loaded_context(ask, url, model)))


def _loaded_context(ask: _Questions, url: str, model: str) -> int | None:
    """Return the context window of a model that Ollama has loaded; None until it has."""
    _, body = ask.ask(f"{url}/api/ps")
    loaded = body.get("models")
    for entry in loaded if isinstance(loaded, list) else []:
        if isinstance(entry, dict) and entry.get("name") == model:
            return _positive(entry.get("context_length"))
    return None


def _llamacpp(ask: _Questions, url: str) -> LocalServer | None:
    status, body = ask.ask(f"{url}/v1/models")
    if status == _LOADING:
        return LocalServer("llamacpp", url, UNNAMED_MODEL, loading=True) if _loads(body) else None
    if status != _OK or not isinstance(body.get("data"), list):
        return None
    names = _names(body["data"], "id")
    status, properties = ask.ask(f"{url}/props")
    generation = properties.get("default_generation_settings")
    context = generation.get("n_ctx") if isinstance(generation, dict) else None
    model = names[0] if names else UNNAMED_MODEL
    loading = status == _LOADING and _loads(properties)
    return LocalServer("llamacpp", url, model, _positive(context), loading=loading)


def _loads(body: dict[str, Any]) -> bool:
    """Check whether llama.cpp reports that its model is still loading."""
    error = body.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    return isinstance(message, str) and "loading model" in message.lower()


def _names(entries: list[Any], field: str) -> list[str]:
    names = (entry.get(field) for entry in entries if isinstance(entry, dict))
    return [name for name in names if isinstance(name, str) and name]


def _embeds(name: str) -> bool:
    return any(word in name.lower() for word in _EMBEDDING_WORDS)


def _positive(value: Any) -> int | None:
    number = isinstance(value, int) and not isinstance(value, bool)
    return value if number and value > 0 else None
