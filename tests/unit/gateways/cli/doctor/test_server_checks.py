"""What the doctor makes of a server's own account of itself, whatever home it lives in."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from opencrab.gateways.cli.doctor.server_checks import (
    CheckVerdict,
    Finding,
    check_clock_by_doctor,
    check_setup_by_doctor,
    server_time_for_doctor,
)
from opencrab.gateways.cli.language.sentences import EN, JA, SentenceCatalog

ENGLISH, JAPANESE = SentenceCatalog(EN), SentenceCatalog(JA)
NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
AWS = {"kind": "aws", "stage": "prod", "region": "us-east-1", "secrets": "ssm:/opencrab/prod/"}


def findings(
    setup: dict[str, Any], words: SentenceCatalog = ENGLISH, now: datetime | None = NOW
) -> dict[str, Finding]:
    return {finding.name: finding for finding in check_setup_by_doctor(words, setup, now)}


def beat(seconds: int) -> dict[str, Any]:
    return {"heartbeat": {"at": (NOW - timedelta(seconds=seconds)).isoformat()}}


@pytest.mark.parametrize(
    ("words", "home", "detail"),
    [
        (ENGLISH, {"kind": "sqlite", "data": "/d"}, "sqlite (data /d)"),
        (JAPANESE, {"kind": "sqlite", "data": "/d"}, "SQLite (データ /d)"),
        (ENGLISH, {"kind": "aws", "region": "eu-1", "more": {"a": 1}}, "aws (region eu-1)"),
        (JAPANESE, {"kind": "aws", "region": "eu-1"}, "AWS (リージョン eu-1)"),
        (ENGLISH, {"kind": "月", "crater": "", "size": 3}, "月 (size 3)"),
        (ENGLISH, {"kind": None, "x": None}, "?"),
    ],
)
def test_a_home_of_any_kind_is_shown(
    words: SentenceCatalog, home: dict[str, Any], detail: str
) -> None:
    assert findings({"home": home}, words)["home"] == Finding("home", CheckVerdict.WELL, detail)


@pytest.mark.parametrize(
    "setup",
    [
        {},
        {"home": None, "model": None, "budget": None, "missing": None, "heartbeat": None},
        {"home": "aws", "model": [], "budget": {"turn_usd": "much"}, "heartbeat": "now"},
        {"home": {}, "budget": {"turn_usd": 1}, "missing": [{}], "backups": "daily"},
    ],
)
def test_what_a_server_leaves_out_or_garbles_is_no_traceback(setup: dict[str, Any]) -> None:
    assert set(findings(setup)) <= {"model", "setup"}
    assert findings(setup)["model"].verdict is CheckVerdict.WRONG


@pytest.mark.parametrize("words", [ENGLISH, JAPANESE], ids=["en", "ja"])
@pytest.mark.parametrize(
    ("home", "cure"),
    [
        (AWS, "aws ssm put-parameter --type SecureString --name /opencrab/prod/OPENAI_API_KEY"),
        ({"kind": "aws", "secrets": "ssm:/a"}, "--name /a/OPENAI_API_KEY"),
        ({"kind": "aws", "secrets": "secretsmanager:keys"}, "secretsmanager:keys"),
        ({"kind": "aws"}, "OPENAI_API_KEY"),
        ({"kind": "sqlite"}, "Ollama"),
        ({}, "Ollama"),
    ],
)
def test_a_model_is_cured_where_its_home_takes_keys_from(
    words: SentenceCatalog, home: dict[str, Any], cure: str
) -> None:
    for model, verdict in (
        ({}, CheckVerdict.WRONG),
        ({"default": "scripted:rules"}, CheckVerdict.NOTE),
    ):
        found = findings({"home": home, "model": model}, words)["model"]
        assert found.verdict is verdict
        assert cure in found.cure


def test_a_budget_is_shown_and_one_of_nothing_is_wrong() -> None:
    budget = {"turn_usd": 0.5, "agent_day_usd": 1, "installation_day_usd": 5.0}
    well = findings({"budget": budget})["budget"]
    assert well.detail == "$0.50 per turn, $1.00 per agent and day, $5.00 per day in total"
    assert "1日" in findings({"budget": budget}, JAPANESE)["budget"].detail
    wrong = findings({"budget": {**budget, "agent_day_usd": 0}})["budget"]
    assert wrong.verdict is CheckVerdict.WRONG
    assert "OPENCRAB_BUDGET__AGENT_DAY_USD" in wrong.cure


def test_limits_that_were_set_at_run_time_are_told_as_such() -> None:
    budget = {"turn_usd": 0.000001, "agent_day_usd": 1, "installation_day_usd": 5.25}
    changed = {**budget, "session_usd": 2.0, "changed": ["turn_usd", "session_usd"]}
    assert findings({"budget": changed})["budget"].detail == (
        "$0.000001 per turn, $1.00 per agent and day, $5.25 per day in total, $2.00 per session "
        "(set at runtime: turn_usd, session_usd)"
    )
    assert "実行中に設定: turn_usd" in findings({"budget": changed}, JAPANESE)["budget"].detail
    for session in (None, 0, "much"):
        shown = findings({"budget": {**budget, "session_usd": session, "changed": None}})["budget"]
        assert shown.detail.endswith("$5.25 per day in total")
    wrong = findings({"budget": {**budget, "turn_usd": 0, "changed": ["turn_usd"]}})["budget"]
    assert wrong.verdict is CheckVerdict.WRONG
    assert "opencrab costs set-budget turn=" in wrong.cure
    assert "OPENCRAB" not in wrong.cure


@pytest.mark.parametrize(
    ("setup", "verdict", "detail"),
    [
        (beat(40), CheckVerdict.WELL, "last heartbeat 40 s ago"),
        (beat(-3), CheckVerdict.WELL, "last heartbeat 0 s ago"),
        (beat(301), CheckVerdict.WRONG, "last heartbeat 301 s ago"),
        ({"heartbeat": {"at": None}}, CheckVerdict.NOTE, "no heartbeat yet"),
        ({"heartbeat": {"at": "soon"}}, CheckVerdict.NOTE, "no heartbeat yet"),
    ],
)
def test_a_heartbeat_that_stopped_is_wrong(
    setup: dict[str, Any], verdict: CheckVerdict, detail: str
) -> None:
    found = findings(setup)["heartbeat"]
    assert (found.verdict, found.detail) == (verdict, detail)
    assert bool(found.cure) is (verdict is not CheckVerdict.WELL)
    assert "heartbeat" not in findings(beat(40), now=None)


def test_what_the_server_says_of_its_errors_is_told_in_japanese() -> None:
    error = {
        "problem": "provider 'x' is not set up: K",
        "cure": "install the full OpenCrab package",
    }
    told = findings({"backups": {"ok": False, **error}, "settings_file": error}, JAPANESE)
    for name in ("backups", "settings"):
        assert "プロバイダー 'x' は設定されていません: K" in told[name].detail
        assert "OpenCrab" in told[name].cure
        assert "install" not in told[name].cure


@pytest.mark.parametrize("failed_at", ["2026-01-05T08:00:00+00:00", None, "soon"])
@pytest.mark.parametrize(
    ("words", "failed", "retry", "well"),
    [
        (ENGLISH, "the last scheduled backup failed at", "every 15 minutes", "backups run"),
        (JAPANESE, "定期バックアップが失敗しました", "15分ごと", "正常です"),
    ],
)
def test_a_scheduled_backup_that_fails_is_wrong(
    words: SentenceCatalog, failed: str, retry: str, well: str, failed_at: str | None
) -> None:
    told = {"ok": False, "failed_at": failed_at, "problem": "disk 満杯", "cure": "free space"}
    found = findings({"backups": told}, words)["backups"]
    assert found.verdict is CheckVerdict.WRONG
    assert failed in found.detail
    assert "disk 満杯" in found.detail
    assert all(part in found.cure for part in ("free space", retry, "opencrab admin backup"))
    fine = findings({"backups": {"ok": True}}, words)["backups"]
    assert (fine.verdict, well in fine.detail) == (CheckVerdict.WELL, True)
    assert "backups" not in findings({}, words)


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [
        (0, CheckVerdict.WELL),
        (60, CheckVerdict.WELL),
        (61, CheckVerdict.NOTE),
        (-3_600, CheckVerdict.NOTE),
    ],
)
def test_clocks_that_are_apart_are_noted(seconds: int, verdict: CheckVerdict) -> None:
    for words in (ENGLISH, JAPANESE):
        (found,) = check_clock_by_doctor(words, NOW + timedelta(seconds=seconds), NOW)
        assert found.verdict is verdict
        assert str(abs(seconds)) in found.detail
    assert not list(check_clock_by_doctor(ENGLISH, NOW, None))
    assert not list(check_clock_by_doctor(ENGLISH, None, NOW))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mon, 05 Jan 2026 09:00:00 GMT", NOW),
        ("2026-01-05T09:00:00Z", NOW),
        ("2026-01-05T18:00:00+09:00", NOW),
        ("2026-01-05T09:00:00", NOW),
        ("きのう", None),
        ("", None),
        (None, None),
        (5, None),
    ],
)
def test_a_moment_is_read_as_http_and_json_write_it(
    text: object, expected: datetime | None
) -> None:
    assert server_time_for_doctor(text) == expected
