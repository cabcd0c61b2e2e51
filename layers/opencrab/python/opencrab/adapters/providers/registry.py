"""The models that an installation can think with, made on demand from its settings."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from opencrab.adapters.providers.address import checked_base_url, is_private
from opencrab.adapters.providers.configuration import (
    LATER,
    ModelSettings,
    ModelsSettings,
    ProviderSettings,
)
from opencrab.adapters.providers.detect import (
    LLAMACPP_URL,
    OLLAMA_URL,
    UNNAMED_MODEL,
    LocalServer,
)
from opencrab.adapters.providers.openai import Endpoint, OpenAIModel
from opencrab.adapters.providers.script import load_script
from opencrab.adapters.providers.scripted import Scripted
from opencrab.adapters.providers.transport import Transport
from opencrab.domain.errors import Invalid
from opencrab.domain.money import FREE, Price
from opencrab.ports.model import ChatModel, ModelInfo

SCRIPTED = "scripted:rules"
"""The model that is always there."""

_BASE_URLS = {
    "openai": "https://api.openai.com/v1",
    "ollama": f"{OLLAMA_URL}/v1",
    "llamacpp": f"{LLAMACPP_URL}/v1",
}
_DEFAULT_MODELS = {"scripted": "rules", "llamacpp": UNNAMED_MODEL}
_LOCAL_KINDS = {"ollama", "llamacpp"}
_INPUT_TOKENS = {"ollama": 8_192, "llamacpp": 4_096}
_OTHER_INPUT_TOKENS = 32_768
_OUTPUT_TOKENS = 4_096
_SCRIPTED = ProviderSettings(name="scripted", kind="scripted")


class ProviderModels:
    """Models by `provider:model`, by a provider's name alone, or by an alias.

    A model is made once and kept. The transport is asked for when the first model needs it, so
    that whoever thinks without a network never loads one.
    """

    def __init__(
        self,
        settings: ModelsSettings,
        transport: Callable[[], Transport],
        *,
        advice: str = "set the environment variable {}",
    ) -> None:
        self._settings = settings
        self._advice = advice
        self._transport = transport
        self._made: dict[str, ChatModel] = {}

    def get(self, name: str | None) -> ChatModel:
        full_name = self._resolved(name or self._settings.default)
        if full_name not in self._made:
            self._made[full_name] = self._make(full_name)
        return self._made[full_name]

    def _resolved(self, name: str) -> str:
        """`provider:model` for any way to name a model."""
        name = self._settings.aliases.get(name, name)
        provider_name, _, model = name.partition(":")
        provider = self._provider(provider_name)
        model = model or provider.default_model or _DEFAULT_MODELS.get(provider.kind, "")
        if not model:
            raise Invalid(
                f"provider {provider.name!r} has no default model",
                field="model",
                cure=f"name one, as in '{provider.name}:NAME'",
            )
        return f"{provider.name}:{model}"

    def _provider(self, name: str) -> ProviderSettings:
        known = {"scripted": _SCRIPTED, **self._settings.providers}
        provider = known.get(name)
        if name in LATER or (provider is not None and provider.kind in LATER):
            raise Invalid(
                f"OpenCrab cannot speak to provider {name!r} yet",
                field="model",
                cure="use openai, ollama, llamacpp or scripted",
            )
        if provider is None:
            raise Invalid(
                f"no provider is named {name!r}",
                field="model",
                cure=f"write PROVIDER:MODEL with one of {', '.join(sorted(known))}, or an alias",
            )
        if missing := _missing(provider):
            raise Invalid(
                f"provider {name!r} is not set up: {missing} is not set",
                field="model",
                cure=self._advice.format(missing),
            )
        return provider

    def _make(self, full_name: str) -> ChatModel:
        provider_name, _, model = full_name.partition(":")
        provider = self._provider(provider_name)
        facts = self._settings.models.get(full_name, ModelSettings())
        if provider.kind == "scripted":
            script = load_script(Path(provider.script)) if provider.script else ()
            return Scripted(script, name=full_name, price=facts.price or FREE)
        base_url = _base_url(provider)
        endpoint = Endpoint(
            provider=provider.name,
            base_url=base_url,
            api_key=provider.api_key,
            key_name=provider.key_name,
            organization=provider.organization,
        )
        info = _info(full_name, provider.kind, base_url, facts)
        return OpenAIModel(endpoint, model, info, self._transport())


def usable(settings: ModelsSettings, server: LocalServer | None) -> ModelsSettings:
    """The settings with a default that can work here.

    The configured one, unless its provider is absent; then a server that was found on this
    computer; and the scripted model when there is nothing else. A server that was found becomes a
    provider in any case.
    """
    if server is not None:
        settings = _with_local(settings, server)
    provider = settings.providers.get(settings.default.partition(":")[0])
    if provider is not None and not _missing(provider) and provider.kind not in LATER:
        return settings
    name = SCRIPTED if server is None else f"{server.provider}:{server.model}"
    return replace(settings, default=name)


def _with_local(settings: ModelsSettings, server: LocalServer) -> ModelsSettings:
    known = settings.providers.get(server.provider)
    provider = replace(
        known or ProviderSettings(name=server.provider, kind=server.provider),
        base_url=server.base_url,
        default_model=server.model,
        missing="",
    )
    name = f"{server.provider}:{server.model}"
    settings = settings.with_provider(provider)
    if server.input_tokens is None or name in settings.models:
        return settings
    limits = ModelSettings(
        max_input_tokens=server.input_tokens, max_total_tokens=server.input_tokens
    )
    return settings.with_model(name, limits)


def _missing(provider: ProviderSettings) -> str:
    """The environment variable without which the provider cannot work; empty when it can."""
    at_openai = provider.kind == "openai" and provider.base_url in {"", _BASE_URLS["openai"]}
    if at_openai and not provider.api_key:
        return provider.missing or provider.key_name or "OPENAI_API_KEY"
    return provider.missing


def _base_url(provider: ProviderSettings) -> str:
    """The address below which chat/completions lies."""
    url = provider.base_url or _BASE_URLS.get(provider.kind, "")
    url = checked_base_url(url, provider=provider.name)
    if provider.kind in _LOCAL_KINDS and not url.endswith("/v1"):
        return f"{url}/v1"
    return url


def _info(name: str, kind: str, base_url: str, facts: ModelSettings) -> ModelInfo:
    """What is known of a model, and careful guesses in place of what is not."""
    tokens_in = facts.max_input_tokens or _INPUT_TOKENS.get(kind, _OTHER_INPUT_TOKENS)
    price = facts.price or _own_price(kind, base_url)
    own_context = tokens_in if kind in _LOCAL_KINDS else None
    unknown: Mapping[str, object] = {"context": facts.max_input_tokens, "price": price}
    notes = tuple(
        f"the {what} of {name!r} is not known" for what, value in unknown.items() if value is None
    )
    return ModelInfo(
        name=name,
        max_input_tokens=tokens_in,
        max_output_tokens=facts.max_output_tokens or min(_OUTPUT_TOKENS, max(tokens_in // 2, 1)),
        max_total_tokens=facts.max_total_tokens or own_context,
        price=price,
        notes=(*facts.notes, *notes),
    )


def _own_price(kind: str, base_url: str) -> Price | None:
    """Nothing, for a model on the owner's own machine; unknown for all others.

    An Ollama elsewhere is the owner's as well; a llama.cpp server behind a public name need not be.
    """
    if kind == "ollama" or (kind == "llamacpp" and is_private(base_url)):
        return FREE
    return None
