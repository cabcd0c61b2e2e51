"""Rules: the settings' dollars and steps as the engine counts them."""

from datetime import timedelta

import pytest

from opencrab.bootstrap.rules import (
    configured_budget_limits,
    configured_deleted_version_age,
    configured_engine_rules,
)
from opencrab.domain.errors import Invalid
from opencrab.domain.money.budget import Limits
from opencrab.engine.runtime import Rules
from opencrab.settings import load_settings, machine_time_zone_setting

CALLS_DAYS = "OPENCRAB_RETENTION__CALLS_DAYS"
VERSIONS_DAYS = "OPENCRAB_WORKSPACE__DELETED_VERSIONS_DAYS"


def test_the_defaults_are_the_engines_own() -> None:
    rules = configured_engine_rules(load_settings({}, {}))
    assert rules == Rules(time_zone=machine_time_zone_setting(), asks_purpose=True)


def test_the_time_zone_is_the_machines_or_the_one_that_is_set() -> None:
    def zone(name: str) -> str:
        given = {"OPENCRAB_AGENT__TIME_ZONE": name}
        return configured_engine_rules(load_settings({}, given)).time_zone

    assert zone("Asia/Tokyo") == "Asia/Tokyo"
    assert zone("local") == zone("") == machine_time_zone_setting()
    with pytest.raises(Invalid, match=r"agent.time_zone is 'Asia/Edo'") as refused:
        zone("Asia/Edo")
    assert refused.value.field == "agent.time_zone"


def test_dollars_become_whole_millionths() -> None:
    given = {
        "OPENCRAB_BUDGET__TURN_USD": "0.29",
        "OPENCRAB_BUDGET__AGENT_DAY_USD": "0",
        "OPENCRAB_BUDGET__INSTALLATION_DAY_USD": "1234.5678901",
        "OPENCRAB_BUDGET__SESSION_USD": "2",
        "OPENCRAB_BUDGET__HEARTBEAT_PERCENT": "0",
        "OPENCRAB_BUDGET__PUBLIC_USER_DAY_USD": "0.01",
    }
    limits = configured_engine_rules(load_settings({}, given)).limits
    assert limits.turn_micro_usd == 290_000
    assert limits.agent_day_micro_usd == 0
    assert limits.installation_day_micro_usd == 1_234_567_890
    assert limits.session_micro_usd == 2_000_000
    assert limits.heartbeat_percent == 0
    assert limits.public_user_day_micro_usd == 10_000
    assert limits.block_micro_usd == Limits().block_micro_usd


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("TURN_USD", "-0.01"), ("AGENT_DAY_USD", "1e300"), ("SESSION_USD", "1000001"),
        ("HEARTBEAT_PERCENT", "101"), ("HEARTBEAT_PERCENT", "-1"),
    ],
)  # fmt: skip
def test_a_budget_that_cannot_be_meant_is_named(name: str, text: str) -> None:
    with pytest.raises(Invalid) as caught:
        configured_engine_rules(load_settings({}, {f"OPENCRAB_BUDGET__{name}": text}))
    assert caught.value.field == f"budget.{name.lower()}"
    assert caught.value.cure


def test_a_session_of_nothing_is_one_without_a_limit() -> None:
    for text in ("0", "0.0", "0.0000001"):
        limits = configured_engine_rules(
            load_settings({}, {"OPENCRAB_BUDGET__SESSION_USD": text})
        ).limits
        assert limits.session_micro_usd is None


def test_the_setup_shows_what_is_in_force() -> None:
    assert configured_budget_limits(Limits(), {}) == {
        "turn_usd": 0.5,
        "session_usd": None,
        "agent_day_usd": 1.0,
        "installation_day_usd": 5.0,
        "heartbeat_percent": 25,
        "public_user_day_usd": 0.1,
        "changed": [],
    }
    changes = {"session_micro_usd": 2_000_000, "heartbeat_percent": 0, "turn_micro_usd": 1}
    shown = configured_budget_limits(Limits(), changes)
    assert (shown["session_usd"], shown["heartbeat_percent"], shown["turn_usd"]) == (2, 0, 0.000001)
    assert shown["changed"] == ["heartbeat_percent", "session_usd", "turn_usd"]
    unlimited = configured_budget_limits(Limits(session_micro_usd=5), {"session_micro_usd": 0})
    assert unlimited["session_usd"] is None


@pytest.mark.parametrize("steps", [1, 25])
def test_the_most_steps_are_a_setting(steps: int) -> None:
    assert (
        configured_engine_rules(
            load_settings({}, {"OPENCRAB_AGENT__MAX_STEPS": str(steps)})
        ).max_steps
        == steps
    )


def test_everything_else_is_as_the_engine_has_it() -> None:
    rules = configured_engine_rules(load_settings({}, {"OPENCRAB_AGENT__MAX_STEPS": "3"}))
    assert (rules.lease_seconds, rules.visibility_seconds) == (300, 1_800)


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("CONTEXT__HISTORY_LINES", "200", "history_lines"),
        ("CONTEXT__HIGH_WATER_TOKENS", "20000", "high_water_tokens"),
        ("MEMORY__COMPACT_EVERY_LINES", "0", "compact_every"),
    ],
)
def test_how_much_is_shown_and_summarised_is_a_setting(name: str, text: str, rule: str) -> None:
    assert getattr(
        configured_engine_rules(load_settings({}, {f"OPENCRAB_{name}": text})), rule
    ) == int(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("CONTEXT__HISTORY_LINES", "7"),
        ("CONTEXT__HIGH_WATER_TOKENS", "999"),
        ("MEMORY__COMPACT_EVERY_LINES", "-1"),
        ("MEMORY__COMPACT_EVERY_LINES", "1001"),
    ],
)
def test_numbers_beyond_all_measure_are_refused_by_name(name: str, text: str) -> None:
    section, _, key = name.lower().partition("__")
    with pytest.raises(Invalid, match=rf"{section}\.{key} must be from") as error:
        configured_engine_rules(load_settings({}, {f"OPENCRAB_{name}": text}))
    assert error.value.field == f"{section}.{key}"


@pytest.mark.parametrize("seconds", ["0", "-61", "60", "28", "100003"])
def test_the_interval_of_new_agents_is_a_prime(seconds: str) -> None:
    with pytest.raises(Invalid, match="heartbeat_interval_secs") as refused:
        configured_engine_rules(
            load_settings({}, {"OPENCRAB_AGENT__HEARTBEAT_INTERVAL_SECS": seconds})
        )
    assert refused.value.cure


def test_a_number_of_autonomy_is_checked_and_named() -> None:
    given = {"OPENCRAB_AGENT__HEARTBEAT_INTERVAL_SECS": "67", "OPENCRAB_AUTONOMY__HOP_LIMIT": "3"}
    rules = configured_engine_rules(load_settings({}, given))
    assert (rules.heartbeat_seconds, rules.autonomy.hop_limit) == (67, 3)
    with pytest.raises(Invalid, match=r"autonomy\.hop_limit"):
        configured_engine_rules(load_settings({}, {"OPENCRAB_AUTONOMY__HOP_LIMIT": "0"}))


@pytest.mark.parametrize(("days", "seconds"), [("1", 86_400), ("3650", 315_360_000)])
def test_how_long_versions_of_deleted_files_are_kept_is_a_setting(days: str, seconds: int) -> None:
    kept = configured_deleted_version_age(load_settings({}, {VERSIONS_DAYS: days}))
    assert kept.total_seconds() == seconds


@pytest.mark.parametrize("days", ["0", "-1", "3651"])
def test_versions_that_end_never_or_at_once_are_refused(days: str) -> None:
    with pytest.raises(Invalid, match=r"workspace\.deleted_versions_days must be from 1"):
        configured_deleted_version_age(load_settings({}, {VERSIONS_DAYS: days}))


@pytest.mark.parametrize(("days", "kept"), [("0", None), ("40", 40), ("36500", 36_500)])
def test_how_long_single_calls_are_kept_is_a_setting(days: str, kept: int | None) -> None:
    rules = configured_engine_rules(load_settings({}, {CALLS_DAYS: days}))
    assert rules.calls_kept == (None if kept is None else timedelta(days=kept))


def test_single_calls_are_kept_for_more_than_a_year_by_default() -> None:
    assert configured_engine_rules(load_settings({}, {})).calls_kept == timedelta(days=400)


@pytest.mark.parametrize("days", ["1", "39", "-1", "36501"])
def test_calls_that_reports_still_read_are_not_deleted(days: str) -> None:
    with pytest.raises(Invalid, match=r"retention\.calls_days must be from 40"):
        configured_engine_rules(load_settings({}, {CALLS_DAYS: days}))
