"""Checks of the chosen models: what their providers say, and how their last calls went."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from opencrab.domain.amounts import format_micro_usd
from opencrab.domain.errors import Exhausted, Invalid, OpenCrabError, Refused
from opencrab.domain.models.fault import Fault
from opencrab.domain.models.routing import RoutingBasis, Use
from opencrab.domain.turn.record import CallState
from opencrab.domain.usage.ledger import UsageRow
from opencrab.engine.discord.diagnosis import Check
from opencrab.engine.installation.findings import Findings
from opencrab.engine.installation.model_question import ModelQuestion
from opencrab.engine.installation.work_checks import agents_checked_in_installation
from opencrab.engine.models.effective_choice import effective_models
from opencrab.engine.models.preferences import current_model_preferences
from opencrab.engine.runtime import Runtime
from opencrab.ports.models.model import ModelInfo
from opencrab.ports.models.readiness import ProviderHealth, ProviderState

WAIT_SECONDS = 1.8
"""How long providers may take; less than the deadline of all checks."""

ASK_SECONDS = 20.0
"""How long a model may take to answer a question of a few tokens; some are loaded for it."""

_FRESH_SECONDS = 1.0
_AT_ONCE = 8
_CREATE = "opencrab agents create"
_BUDGETS = "opencrab costs budgets"
_ROWS = 30
_LISTED = 5
_NAMED = 3
_SKEW, _WRONG_CLOCK = timedelta(seconds=60), timedelta(minutes=5)
_REFUSALS = frozenset({Fault.AUTH, Fault.MODEL_GONE, Fault.QUOTA_SPENT, Fault.BAD_REQUEST})
"""Faults that do not pass by themselves."""


@dataclass
class ModelChoice:
    """A model that somebody chose, and who; `problem` and `cure` say why it cannot be called."""

    name: str
    info: ModelInfo | None = None
    problem: str = ""
    cure: str = ""
    users: list[str] = field(default_factory=list)
    agent_id: str = ""

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self.name.partition(":")[0]


class ModelChecks:
    """The checks of the models of one installation."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def chosen(self, findings: Findings) -> tuple[ModelChoice, ...]:
        """Return the default model and that of each agent, those with most users first."""
        current_model_preferences(self._runtime)
        models = self._runtime.models
        found: dict[str, ModelChoice] = {}
        everybody = findings.words("default_users")
        for use in (Use.CONVERSATION, Use.THINKING, Use.ANALYSIS):
            name = models.routing.chosen(use, RoutingBasis()).model
            self._take(found, name, everybody)
        for agent in agents_checked_in_installation(self._runtime):
            for use, effective in effective_models(models, agent).items():
                if use is not Use.EMBEDDING:
                    self._take(found, effective.model, agent.name, agent.id)
        return tuple(each for each in found.values() if each.provider != "scripted")

    def _take(
        self, found: dict[str, ModelChoice], name: str, user: str, agent_id: str = ""
    ) -> None:
        info, problem, cure = None, "", ""
        try:
            info = self._runtime.models.get(name).info
            name = info.name
        except Invalid as error:
            problem, cure = error.message, error.cure or ""
        chosen = found.setdefault(name, ModelChoice(name, info, problem, cure))
        if user not in chosen.users:
            chosen.users.append(user)
        if agent_id and not chosen.agent_id:
            chosen.agent_id = agent_id

    def check(self, findings: Findings) -> Iterator[Check]:
        """Check every chosen model, and this computer's clock by those of its providers.

        Nobody is asked anything that costs money.
        """
        chosen = self.chosen(findings)
        answers = self._answers(each.provider for each in chosen if not each.problem)
        last = self._last_calls()
        for each in chosen:
            health = answers.get(each.provider)
            found = self._of_provider(findings, each, health)
            if found is None and health is not None:
                found = self._of_last_call(findings, each, health, last.get(each.name))
            if found is not None:
                yield found
        yield from self._of_clock(findings, answers)

    def ask(self, findings: Findings) -> Iterator[Check]:
        """Ask every chosen model for a few tokens, side by side, within the agents' budgets."""
        chosen = self.chosen(findings)
        answers = self._answers(each.provider for each in chosen if not each.problem)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            yield from pool.map(
                lambda each: (
                    self._of_provider(findings, each, answers.get(each.provider))
                    or self._asked(findings, each)
                ),
                chosen,
            )
        yield from self._of_clock(findings, answers)

    def _asked(self, findings: Findings, chosen: ModelChoice) -> Check:
        facts: dict[str, object] = _facts(chosen)
        if not chosen.agent_id:
            why = findings.words("model_without_agent")
            return findings.warning("model", "model_not_asked", **facts, why=why, cure=_CREATE)
        agent = self._runtime.home.agents.get(chosen.agent_id).agent
        try:
            model = self._runtime.models.get(chosen.name)
            found = ModelQuestion(self._runtime, agent, model).ask(timeout_seconds=ASK_SECONDS)
        except (Exhausted, Refused) as error:
            facts |= {"why": error.message, "cure": error.cure or _BUDGETS}
            return findings.problem("model", "model_not_asked", **facts)
        except OpenCrabError as error:
            facts |= {"why": error.message, "cure": error.cure or "opencrab models providers"}
            return findings.problem("model", "model_refused", **facts)
        facts |= {"ms": found.latency_ms, "cost": format_micro_usd(found.cost)}
        return findings.well("model", "model_asked", **facts)

    def _answers(self, providers: Iterable[str]) -> Mapping[str, ProviderHealth]:
        names = set(providers)
        if not names or self._runtime.directory is None:
            return {}
        return self._runtime.directory.readiness(
            names, wait_seconds=WAIT_SECONDS, newer_than_seconds=_FRESH_SECONDS
        )

    def _last_calls(self) -> Mapping[str, UsageRow]:
        """Return the newest call of each model, of any agent."""
        newest: dict[str, UsageRow] = {}
        for agent in agents_checked_in_installation(self._runtime):
            for row in self._runtime.home.usage.rows(agent.id, limit=_ROWS):
                name = f"{row.provider}:{row.model}"
                if name not in newest or row.at > newest[name].at:
                    newest[name] = row
        return newest

    def _of_provider(
        self, findings: Findings, chosen: ModelChoice, health: ProviderHealth | None
    ) -> Check | None:
        """Return why a model cannot answer, as its provider says; None if nothing speaks for it."""
        facts = _facts(chosen)
        if chosen.problem or chosen.info is None:
            cure = chosen.cure or "opencrab models providers"
            return findings.problem(
                "model", "model_unusable", **facts, why=chosen.problem, cure=cure
            )
        if chosen.info.price is None:
            return findings.problem("model", "model_price", **facts)
        if health is None:
            facts |= {"provider": chosen.provider, "seconds": f"{WAIT_SECONDS:g}"}
            return findings.problem("model", "model_silent", **facts)
        if not health.ok:
            cure = health.cure or "opencrab models providers"
            return findings.problem("model", "model_down", **facts, why=health.problem, cure=cure)
        if not self._is_listed(chosen, health):
            listed = ", ".join((health.models or ())[:_LISTED]) or "-"
            kind = self._provider(chosen.provider).kind
            key = "model_pull" if kind == "ollama" else "model_unknown"
            name = chosen.name.partition(":")[2]
            return findings.problem("model", key, **facts, listed=listed, name=name)
        return None

    def _of_last_call(
        self,
        findings: Findings,
        chosen: ModelChoice,
        health: ProviderHealth,
        last: UsageRow | None,
    ) -> Check:
        facts = _facts(chosen) | {"ms": health.latency_ms}
        if last is None:
            return findings.well("model", "model_untried", **facts)
        facts |= {"at": f"{last.at:%Y-%m-%d %H:%M} UTC"}
        if last.state is not CallState.FAILED or last.fault is None:
            return findings.well("model", "model_well", **facts)
        facts |= {"fault": findings.words(f"fault_{last.fault.value}"), "key": self._key(chosen)}
        if last.fault in _REFUSALS:
            return findings.problem("model", f"model_{last.fault.value}", **facts)
        return findings.warning("model", "model_failed", **facts)

    def _key(self, chosen: ModelChoice) -> str:
        return self._provider(chosen.provider).key_name or "api_key"

    def _provider(self, name: str) -> ProviderState:
        states = () if self._runtime.directory is None else self._runtime.directory.providers()
        return next((each for each in states if each.name == name), ProviderState(name, ""))

    def _is_listed(self, chosen: ModelChoice, health: ProviderHealth) -> bool:
        """Check whether a server of the owner's own has the model; vendors do not list all.

        llama.cpp answers with its one model, whatever name it is given.
        """
        provider, name = self._provider(chosen.provider), chosen.name.partition(":")[2]
        listed = health.models or ()
        if provider.kind == "ollama":
            return name in listed or f"{name}:latest" in listed
        tells = provider.private and provider.kind != "llamacpp" and bool(listed)
        return name in listed if tells else True

    def _of_clock(
        self, findings: Findings, answers: Mapping[str, ProviderHealth]
    ) -> Iterator[Check]:
        """Compare this computer's clock with that of a provider elsewhere."""
        for name, health in sorted(answers.items()):
            if health.dated is None or self._provider(name).private:
                continue
            yield _installation_clock_check(
                findings, health.dated, self._runtime.clock.now(), whose=name
            )
            return


def _facts(chosen: ModelChoice) -> dict[str, object]:
    return {"model": chosen.name, "users": ", ".join(chosen.users[:_NAMED])}


def _installation_clock_check(
    findings: Findings, there: datetime, here: datetime, *, whose: str
) -> Check:
    """Return the check of a clock against another; a probe may be some seconds old."""
    difference = abs(here - there)
    facts = {"seconds": round(difference.total_seconds()), "whose": whose}
    if difference > _WRONG_CLOCK:
        return findings.problem("clock", "clock_wrong", **facts)
    if difference > _SKEW:
        return findings.warning("clock", "clock_off", **facts)
    return findings.well("clock", "clock", **facts)
