"""Connections to providers: which wire a kind speaks, where its server is, and what is said to it.

A wire is loaded when the first model needs it: one provider must not cost the time of six.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from opencrab.adapters.providers.catalogue.configuration import ProviderSettings
from opencrab.adapters.providers.catalogue.detect import LLAMACPP_URL, OLLAMA_URL, UNNAMED_MODEL
from opencrab.adapters.providers.catalogue.prices import anthropic_name_in_catalogue
from opencrab.adapters.providers.transport.exchange import (
    IsStopped,
    OpenReply,
    Reply,
    Transport,
    provider_exchange_never_stopped,
)
from opencrab.adapters.providers.wire.address import (
    checked_wire_base_url,
    is_private_url_address,
    is_url_of_this_machine,
)
from opencrab.domain.errors import Invalid
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.ports.models.model import SETTLE_BY_HAND, CallUsage, ChatModel, Embedder, ModelInfo
from opencrab.ports.models.readiness import ProviderHealth

if TYPE_CHECKING:
    from opencrab.adapters.providers.wire.wire import Endpoint, Wire

BASE_URLS = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    # v1beta on purpose: only there may a function's parameters be a JSON Schema.
    "google": "https://generativelanguage.googleapis.com/v1beta",
    "openrouter": "https://openrouter.ai/api/v1",
    "ollama": OLLAMA_URL,
    "llamacpp": LLAMACPP_URL,
}
"""Where each kind is unless its base_url says otherwise; Azure and Bedrock are elsewhere."""

DEFAULT_MODELS = {"scripted": "rules", "llamacpp": UNNAMED_MODEL}
LOCAL_KINDS = frozenset({"ollama", "llamacpp"})
OPENAI_SHAPED = frozenset({"openai", "llamacpp"})
_KEYED = frozenset({"openai", "anthropic", "google", "openrouter"})
_WIRES = {
    "openai": ("openai", "OpenAIWire"),
    "anthropic": ("anthropic", "AnthropicWire"),
    "google": ("google", "GoogleWire"),
    "openrouter": ("openrouter", "OpenRouterWire"),
    "bedrock": ("bedrock", "BedrockWire"),
    "ollama": ("ollama", "OllamaWire"),
    "llamacpp": ("llamacpp", "LlamaCppWire"),
}


def missing_catalogue_provider_setting(provider: ProviderSettings) -> str:
    """Return why a provider cannot be used; empty if it can."""
    if not provider.enabled:
        return "it is disabled"
    if provider.problem:
        return provider.problem
    if name := missing_catalogue_provider_key(provider):
        return f"{name} is not set"
    if provider.kind == "bedrock" and not provider.api_key and provider.sign is None:
        return "it has no AWS credentials"
    if provider.kind != "scripted" and not catalogue_provider_address(provider):
        return "it has no base_url"
    return ""


def missing_catalogue_provider_key(provider: ProviderSettings) -> str:
    """Return the name of the variable that the provider lacks; empty if none."""
    if provider.missing or provider.api_key:
        return provider.missing
    keyed = provider.kind == "azure" or (
        provider.kind in _KEYED and is_address_of_provider_itself(provider)
    )
    return (provider.key_name or "its api_key") if keyed else ""


def is_address_of_provider_itself(provider: ProviderSettings) -> bool:
    """Check whether the address is the vendor's own, not a compatible server's."""
    return provider.base_url.rstrip("/") in {"", BASE_URLS.get(provider.kind, "")}


def catalogue_provider_address(provider: ProviderSettings, base_url: str | None = None) -> str:
    """Return a provider's base URL, `base_url` if given; empty if it has none."""
    given = provider.base_url if base_url is None else base_url
    return given or BASE_URLS.get(provider.kind, "")


def address_of_provider(provider: ProviderSettings) -> str:
    """Return the URL below which API paths begin; raise Invalid if it is unsafe."""
    url = checked_wire_base_url(catalogue_provider_address(provider), provider=provider.name)
    if provider.kind == "llamacpp" and not url.endswith("/v1"):
        return f"{url}/v1"
    if provider.kind == "ollama":
        return url.removesuffix("/v1").rstrip("/")
    if provider.kind == "azure" and "/openai" not in url:
        return f"{url}/openai/v1"
    return url


def catalogue_provider_stays_private(provider: ProviderSettings) -> bool:
    """Check, by setting or address, whether prompts stay on the owner's machines."""
    if provider.private is not None:
        return provider.private
    if provider.kind in LOCAL_KINDS or provider.kind == "openai":
        return is_private_url_address(catalogue_provider_address(provider))
    return False


def catalogue_provider_costs_nothing(provider: ProviderSettings, model: str) -> bool:
    """Check whether a model is free: run by the owner, or given away by its vendor.

    Ollama counts as the owner's at any address, and any server on this machine unless the owner
    says that it is not private. Another OpenAI-compatible server may pass requests on to a vendor
    that bills, unless the owner marks it as private.
    """
    if provider.kind in {"ollama", "scripted"}:
        return True
    if provider.private is not False and is_url_of_this_machine(
        catalogue_provider_address(provider)
    ):
        return True
    if provider.kind == "openrouter":
        return model.endswith(":free")
    if provider.kind in OPENAI_SHAPED and is_private_url_address(
        catalogue_provider_address(provider)
    ):
        return provider.kind == "llamacpp" or provider.private is True
    return False


def build_catalogue_chat_model(
    provider: ProviderSettings, model: str, info: ModelInfo, transport: Transport
) -> ChatModel:
    """Create a chat model of a provider."""
    from opencrab.adapters.providers.vendor import VendorModel  # noqa: PLC0415  - see above

    return VendorModel(
        _wire(provider, responses=info.responses),
        _endpoint(provider),
        _wire_name(provider, model),
        info,
        _patient(provider, transport),
        stream=provider.stream,
    )


def build_catalogue_scripted_model(provider: ProviderSettings, info: ModelInfo) -> ChatModel:
    """Create the model that answers from the provider's script, without a network."""
    from opencrab.adapters.providers.scripted.model import Scripted  # noqa: PLC0415
    from opencrab.adapters.providers.scripted.script import load_script_of_scripted_model  # noqa: PLC0415  - see above

    script = load_script_of_scripted_model(Path(provider.script)) if provider.script else ()
    return Scripted(script, info=info)


def build_catalogue_embedder(
    provider: ProviderSettings, model: str, info: ModelInfo, transport: Transport
) -> Embedder:
    """Create an embedding model; raise Invalid if the provider has none."""
    from opencrab.adapters.providers.vendor import VendorEmbedder  # noqa: PLC0415  - see above

    wire = None if provider.kind == "scripted" else _wire(provider)
    name = _wire_name(provider, model)
    if wire is None or wire.embeddings_path(name) is None:
        raise Invalid(
            f"provider {provider.name!r} has no embeddings",
            field="model",
            cure="choose an embedding model of another provider in [llm.models]",
        )
    return VendorEmbedder(wire, _endpoint(provider), name, info, _patient(provider, transport))


def catalogue_provider_health(
    provider: ProviderSettings, transport: Transport, timeout_seconds: float
) -> ProviderHealth:
    """Check a provider by listing its models."""
    from opencrab.adapters.providers.vendor import probe_health_of_provider  # noqa: PLC0415  - see above

    wire, endpoint = _wire(provider), _endpoint(provider)
    if catalogue_provider_stays_private(provider):
        transport = _NotOpenCrab(transport)
    if provider.kind == "bedrock":
        # The runtime's own host lists no models.
        listing = endpoint.base_url.replace("://bedrock-runtime", "://bedrock", 1)
        endpoint, transport = replace(endpoint, base_url=listing), _patient(provider, transport)
    return probe_health_of_provider(wire, endpoint, transport, timeout_seconds)


def provider_call_usage(
    provider: ProviderSettings, call_id: str, transport: Transport, timeout_seconds: float
) -> CallUsage:
    """Ask a provider what it counted for a call that has ended."""
    from opencrab.adapters.providers.vendor import look_up_usage_at_provider  # noqa: PLC0415  - see above
    from opencrab.adapters.providers.wire.wire import UsageLookupWire  # noqa: PLC0415

    wire = _wire(provider)
    if not isinstance(wire, UsageLookupWire):
        return CallUsage(None, f"{provider.name} has no usage lookup", SETTLE_BY_HAND)
    return look_up_usage_at_provider(wire, _endpoint(provider), call_id, transport, timeout_seconds)


def _wire(provider: ProviderSettings, *, responses: bool = False) -> "Wire":
    if responses and provider.kind in {"openai", "azure"}:
        from opencrab.adapters.providers.responses.endpoint import (  # noqa: PLC0415  - see above
            AzureResponsesWire,
            ResponsesWire,
        )

        azure = provider.kind == "azure"
        return AzureResponsesWire(provider.api_version) if azure else ResponsesWire()
    if provider.kind == "azure":
        from opencrab.adapters.providers.openai.endpoint import AzureWire  # noqa: PLC0415  - see above

        return AzureWire(provider.api_version)
    if provider.kind == "anthropic":
        from opencrab.adapters.providers.anthropic.endpoint import AnthropicWire  # noqa: PLC0415

        return AnthropicWire(address_of_provider(provider))
    module, name = _WIRES[provider.kind]
    made = getattr(import_module(f"opencrab.adapters.providers.{module}.endpoint"), name)
    return cast("Wire", made())


def _wire_name(provider: ProviderSettings, model: str) -> str:
    return anthropic_name_in_catalogue(model) if provider.kind == "anthropic" else model


def _endpoint(provider: ProviderSettings) -> "Endpoint":
    from opencrab.adapters.providers.wire.wire import Endpoint  # noqa: PLC0415  - see above

    return Endpoint(
        provider=provider.name,
        base_url=address_of_provider(provider),
        api_key=provider.api_key,
        key_name=provider.key_name,
        extra_headers=_own_headers(provider),
    )


def _own_headers(provider: ProviderSettings) -> Mapping[str, str]:
    headers = {}
    if provider.kind in {"openai", "azure"}:
        headers = {"OpenAI-Organization": provider.organization}
    if provider.kind == "openrouter":
        headers = {"HTTP-Referer": provider.site_url, "X-Title": provider.app_name}
    return {name: value for name, value in headers.items() if value}


def _patient(provider: ProviderSettings, transport: Transport) -> Transport:
    if provider.sign is not None and not provider.api_key:
        from opencrab.adapters.providers.bedrock.signing import SignedTransport  # noqa: PLC0415

        transport = SignedTransport(transport, provider.sign)
    most = provider.timeout_seconds
    return transport if most is None else _Within(transport, most)


@dataclass(frozen=True)
class _NotOpenCrab:
    """A transport for GET requests that does not take OpenCrab for a model server.

    Both use port 8080 unless somebody says otherwise.
    """

    transport: Transport

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        reply = self.transport.send(
            url, headers=headers, body=body, timeout_seconds=timeout_seconds
        )
        if "problem+json" in reply.headers.get("content-type", ""):
            raise ModelCallFailed(
                f"OpenCrab itself answers at {url}, not a model server",
                Fault.UNREACHABLE,
                cure="start the model server on another port and set its base_url to that, or "
                "start OpenCrab with another --port",
            )
        return reply

    def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        timeout_seconds: float,
        is_stopped: IsStopped = provider_exchange_never_stopped,
    ) -> AbstractContextManager[OpenReply]:
        return self.transport.open(
            url, headers=headers, body=body, timeout_seconds=timeout_seconds, is_stopped=is_stopped
        )


@dataclass(frozen=True)
class _Within:
    """A transport that limits the timeout to the provider's `timeout_seconds`."""

    transport: Transport
    most_seconds: float

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        seconds = min(timeout_seconds, self.most_seconds)
        return self.transport.send(url, headers=headers, body=body, timeout_seconds=seconds)

    def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        timeout_seconds: float,
        is_stopped: IsStopped = provider_exchange_never_stopped,
    ) -> AbstractContextManager[OpenReply]:
        seconds = min(timeout_seconds, self.most_seconds)
        return self.transport.open(
            url, headers=headers, body=body, timeout_seconds=seconds, is_stopped=is_stopped
        )
