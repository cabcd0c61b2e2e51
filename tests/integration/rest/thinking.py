"""The models of a house: three providers, one model that answers, and what an owner changes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.domain.errors import Invalid
from opencrab.domain.models.preferences import Preferences, ProviderChange
from opencrab.domain.models.routing import Routing, Use
from opencrab.domain.money.budget import FREE, Price, Usage
from opencrab.ports.models.model import SETTLE_BY_HAND, CallUsage, ChatModel, Embedder, ModelInfo
from opencrab.ports.models.preferences import PreferenceStore
from opencrab.ports.models.readiness import ProviderHealth, ProviderState

PRICE = Price(input_per_million=2_000_000, output_per_million=8_000_000, cached_per_million=500_000)
INFOS = (
    ModelInfo(name="ollama:llama", price=FREE, private=True),
    ModelInfo(name="openai:dear", price=PRICE, vision=True),
    ModelInfo(name="openai:new", notes=("the price of 'openai:new' is not known",)),
    ModelInfo(name="scripted:rules", price=FREE, private=True),
)
STATES = (
    ProviderState(
        "ollama",
        "ollama",
        "http://localhost:11434",
        private=True,
        configured_url="http://localhost:11434",
    ),
    ProviderState(
        "openai",
        "openai",
        "https://api.openai.com/v1",
        missing="OPENAI_API_KEY",
        default_model="dear",
        key_name="OPENAI_API_KEY",
        configured_url="https://api.openai.com/v1",
    ),
    ProviderState("scripted", "scripted", private=True, default_model="rules"),
)
ROUTING = Routing(
    default="scripted:rules",
    uses={Use.THINKING: "openai:dear"},
    aliases={"fast": "scripted:rules", "smart": "openai:dear", "local": "ollama:llama"},
    fallback=("scripted", "ollama:llama"),
    selectable=("fast", "smart"),
)


class Vault:
    """`ports.secrets.Secrets` that remembers what it was given."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        return self.kept.get(name)

    def put(self, name: str, value: str) -> None:
        self.kept[name] = value

    def forget(self) -> None:
        pass


@dataclass
class Thinking:
    """`ports.model.Models` and `ProviderDirectory`, with a store of preferences behind them."""

    store: PreferenceStore
    vault: Vault = field(default_factory=Vault)
    model: ChatModel = field(default_factory=Scripted)
    asked: list[tuple[str, float]] = field(default_factory=list)
    billed: dict[str, int] = field(default_factory=dict)
    version: int = 0
    _preferences: Preferences = field(default_factory=Preferences)

    @property
    def routing(self) -> Routing:
        given = {"aliases": self._preferences.aliases, "fallback": self._preferences.fallback}
        return ROUTING.replaced(**{k: value for k, value in given.items() if value is not None})

    def refresh(self, version: int) -> None:
        if version > self.version:
            stored = self.store.get()
            self._preferences, self.version = stored.preferences, stored.version

    def get(self, name: str | None) -> ChatModel:
        full = self.routing.aliases.get(name or "", name or self.routing.default)
        if full not in {"scripted", "scripted:rules"}:
            raise Invalid("this model is not configured here", cure="use scripted:rules")
        return self.model

    def infos(self, also: Iterable[str] = ()) -> tuple[ModelInfo, ...]:
        prices, known = self._preferences.prices, {info.name for info in INFOS}
        more = (ModelInfo(name=name) for name in also if name not in known)
        return tuple(
            replace(info, price=prices[info.name].price) if info.name in prices else info
            for info in (*INFOS, *more)
        )

    def providers(self) -> tuple[ProviderState, ...]:
        return tuple(self._state(state, self._preferences.providers) for state in STATES)

    def price(self, name: str) -> Price | None:
        return next((info.price for info in self.infos() if info.name == name), None)

    def check(self, preferences: Preferences) -> None:
        for name, change in preferences.providers.items():
            url = change.base_url or ""
            if url.startswith("http://") and "localhost" not in url:
                raise Invalid(f"the address of provider {name!r} is open", field="base_url")

    def health(self, provider: str, *, timeout_seconds: float) -> ProviderHealth:
        self.asked.append((provider, timeout_seconds))
        if provider == "openai":
            return ProviderHealth(ok=False, latency_ms=7, problem="鍵 \ud83e", cure="set it")
        models = ("rules",) if provider == "scripted" else ("llama", "かに")
        return ProviderHealth(ok=True, latency_ms=3, models=models)

    def check_new(self, name: str, base_url: str) -> None:
        """Allow every address."""

    def readiness(
        self,
        providers: Iterable[str] | None = None,
        *,
        wait_seconds: float,
        newer_than_seconds: float | None = None,
    ) -> Mapping[str, ProviderHealth]:
        names = [state.name for state in self.providers() if not state.missing]
        return {
            name: self.health(name, timeout_seconds=wait_seconds)
            for name in names
            if providers is None or name in providers
        }

    def call_usage(self, provider: str, call_id: str, *, timeout_seconds: float) -> CallUsage:
        self.asked.append((f"{provider} {call_id}", timeout_seconds))
        if call_id not in self.billed:
            return CallUsage(None, f"{provider} does not know this call", SETTLE_BY_HAND)
        return CallUsage(Usage(input_tokens=7, reported_micro_usd=self.billed[call_id]))

    def embedder(self, name: str | None) -> Embedder:
        raise Invalid(f"{name!r} does not embed")

    def _state(self, state: ProviderState, changes: Mapping[str, ProviderChange]) -> ProviderState:
        change = changes.get(state.name, ProviderChange())
        has_key = state.key_name in self.vault.kept
        return replace(
            state,
            enabled=state.enabled if change.enabled is None else change.enabled,
            base_url=change.base_url or state.base_url,
            private=state.private if change.private is None else change.private,
            has_key=has_key,
            missing="" if has_key else state.missing,
        )
