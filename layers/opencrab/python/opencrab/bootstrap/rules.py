"""The engine's limits and intervals, from the settings."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeVar

from pydantic import ValidationError

from opencrab.domain.agents.heartbeat import (
    LONGEST_SECONDS,
    SHORTEST_SECONDS,
    is_agent_time_zone_name,
    is_prime_agent_interval,
    prime_agent_interval,
)
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.errors import Invalid
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.money.budget import Limits
from opencrab.domain.value import MicroUsd, Value
from opencrab.engine.runtime import Rules
from opencrab.settings import Settings, machine_time_zone_setting

Section = TypeVar("Section", bound=Value)

_MILLION = 1_000_000
_MOST = 10**12
_WHOLE = 100
_CALLS_DAYS, _LEAST_DAYS = "retention.calls_days", 40


def configured_engine_rules(configured: Settings) -> Rules:
    """Return the engine's rules from the settings; raises Invalid for a number out of range.

    Rules that no setting names keep the engine's defaults.
    """

    def micro(name: str) -> int:
        amount = float(configured.get(f"budget.{name}")) * _MILLION
        if not 0 <= amount <= _MOST:
            raise Invalid(
                f"budget.{name} must be from 0 to 1,000,000 US dollars, not {amount / _MILLION:,g}",
                field=f"budget.{name}",
                cure="correct it; see config/default.toml",
            )
        return round(amount)

    return Rules(
        limits=Limits(
            turn_micro_usd=micro("turn_usd"),
            session_micro_usd=micro("session_usd"),
            agent_day_micro_usd=micro("agent_day_usd"),
            installation_day_micro_usd=micro("installation_day_usd"),
            heartbeat_percent=_percent(configured),
            public_user_day_micro_usd=micro("public_user_day_usd"),
        ),
        max_steps=int(configured.get("agent.max_steps")),
        asks_purpose=bool(configured.get("agent.ask_purpose")),
        history_lines=_whole(configured, "context.history_lines", 8, 1_000),
        high_water_tokens=_whole(configured, "context.high_water_tokens", 1_000, 10**7),
        compact_every=_whole(configured, "memory.compact_every_lines", 0, 1_000),
        heartbeat_seconds=_interval(configured),
        autonomy=_section(configured, "autonomy", Autonomy),
        trials=_section(configured, "trials", TrialSettings),
        calls_kept=configured_call_retention(configured),
        time_zone=_time_zone(configured),
        client_tool_minutes=_whole(configured, "gateway.rest.client_tool_minutes", 1, 10_080),
    )


def _time_zone(configured: Settings) -> str:
    """Return the installation's time zone: the one that is set, or this machine's."""
    name = str(configured.get("agent.time_zone")).strip()
    if name in {"", "local"}:
        return machine_time_zone_setting()
    if not is_agent_time_zone_name(name):
        raise Invalid(
            f"agent.time_zone is {name!r}, which is no IANA time zone",
            field="agent.time_zone",
            cure="use a name such as Asia/Tokyo, UTC, or local for this machine's",
        )
    return name


def _interval(configured: Settings) -> int:
    name = "agent.heartbeat_interval_secs"
    seconds = int(configured.get(name))
    if not SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS or not is_prime_agent_interval(seconds):
        raise Invalid(
            f"{name} must be a prime number from {SHORTEST_SECONDS} to {LONGEST_SECONDS:,}, "
            f"not {seconds}",
            field=name,
            cure=f"take {prime_agent_interval(max(seconds, SHORTEST_SECONDS))}",
        )
    return seconds


def _section(configured: Settings, section: str, kind: type[Section]) -> Section:
    try:
        return kind.model_validate(configured.table(section))
    except ValidationError as error:
        wrong = error.errors(include_input=False)[0]
        name = ".".join((section, *map(str, wrong["loc"])))
        raise Invalid(
            f"{name}: {wrong['msg']}",
            field=name,
            cure="correct it; see config/default.toml",
        ) from None


def _whole(configured: Settings, name: str, least: int, most: int) -> int:
    number = int(configured.get(name))
    if not least <= number <= most:
        raise Invalid(
            f"{name} must be from {least} to {most:,}, not {number}",
            field=name,
            cure="correct it; see config/default.toml",
        )
    return number


def configured_deleted_version_age(configured: Settings) -> timedelta:
    """Return how long a deleted file's versions can be read; raises Invalid out of range."""
    return timedelta(days=_whole(configured, "workspace.deleted_versions_days", 1, 3_650))


def configured_call_retention(configured: Settings) -> timedelta | None:
    """Return how long ledger rows of single calls are kept; None is for ever."""
    days = int(configured.get(_CALLS_DAYS))
    return timedelta(days=_whole(configured, _CALLS_DAYS, _LEAST_DAYS, 36_500)) if days else None


def configured_budget_limits(configured: Limits, changes: Mapping[str, MicroUsd]) -> dict[str, Any]:
    """Return the limits in force, with names and units as in settings section `budget`.

    None is no limit. `changed` names those that were set at run time, which override the settings.
    """
    limits = configured.changed(changes)
    session = limits.session_micro_usd
    return {
        "turn_usd": limits.turn_micro_usd / _MILLION,
        "session_usd": None if session is None else session / _MILLION,
        "agent_day_usd": limits.agent_day_micro_usd / _MILLION,
        "installation_day_usd": limits.installation_day_micro_usd / _MILLION,
        "heartbeat_percent": limits.heartbeat_percent,
        "public_user_day_usd": limits.public_user_day_micro_usd / _MILLION,
        "changed": sorted(name.replace("_micro_", "_") for name in changes),
    }


def _percent(configured: Settings) -> int:
    percent = int(configured.get("budget.heartbeat_percent"))
    if not 0 <= percent <= _WHOLE:
        raise Invalid(
            f"budget.heartbeat_percent must be from 0 to {_WHOLE}, not {percent}",
            field="budget.heartbeat_percent",
            cure="correct it; 25 is a quarter of an agent's day",
        )
    return percent
