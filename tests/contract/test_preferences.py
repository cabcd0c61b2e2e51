"""Preferences: one document, whose version every turn sees before its next model call."""

from datetime import date
from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Conflict, Invalid
from opencrab.domain.models.preferences import DatedPrice, Preferences, ProviderChange
from opencrab.domain.money.budget import Price
from opencrab.ports.home import Home
from opencrab.ports.models.preferences import StoredPreferences
from tests.contract.example import NOW, turn
from tests.contract.homes import OpenHome, sqlite
from tests.contract.waiting import at_once

PRICED = DatedPrice(
    price=Price(input_per_million=1, output_per_million=2, cached_per_million=0),
    as_of=date(2026, 2, 17),
)
FULL = Preferences(
    aliases={"smart": "anthropic:claude", "local": "ollama"},
    fallback=("smart", "openai:gpt"),
    providers={
        "openai": ProviderChange(enabled=False),
        "vllm": ProviderChange(base_url="http://127.0.0.1:8000/v1#社内", private=True),
    },
    prices={"openrouter:某社/モデル": PRICED},
)


def version_seen(home: Home) -> int:
    """What a turn sees before its next model call."""
    return home.journal.read_step_state(turn()).settings_version


def test_nobody_changed_anything_at_first(home: Home) -> None:
    assert home.preferences.get() == StoredPreferences(Preferences(), 0)
    assert version_seen(home) == 0


def test_what_was_saved_comes_back_with_its_version(home: Home) -> None:
    assert home.preferences.save(FULL, 0) == StoredPreferences(FULL, 1)
    assert home.preferences.get() == StoredPreferences(FULL, 1)
    assert version_seen(home) == 1
    assert home.preferences.save(Preferences(), 1) == StoredPreferences(Preferences(), 2)
    assert home.preferences.get() == StoredPreferences(Preferences(), 2)
    assert version_seen(home) == 2


def test_an_empty_list_is_another_choice_than_none(home: Home) -> None:
    none_at_all = Preferences(aliases={}, fallback=())
    home.preferences.save(none_at_all, 0)
    assert home.preferences.get().preferences == none_at_all


def test_a_change_of_something_older_is_a_conflict(home: Home) -> None:
    home.preferences.save(FULL, 0)
    for version in (0, 2, -1, 7):
        with pytest.raises(Conflict) as refusal:
            home.preferences.save(Preferences(), version)
        assert refusal.value.cure
    assert home.preferences.get() == StoredPreferences(FULL, 1)
    assert version_seen(home) == 1


def test_nothing_can_follow_what_never_was(home: Home) -> None:
    for version in (-1, 1):
        with pytest.raises(Conflict):
            home.preferences.save(FULL, version)
    assert home.preferences.get().version == 0


def test_of_changes_at_once_one_holds(home: Home) -> None:
    def save(number: int) -> bool:
        try:
            home.preferences.save(Preferences(fallback=(f"openai:m{number}",)), 0)
        except Conflict:
            return False
        return True

    assert at_once(8, save).count(True) == 1
    assert home.preferences.get().version == version_seen(home) == 1


def test_more_than_a_store_takes_is_refused_and_nothing_changes(home: Home) -> None:
    vast = Preferences(prices={f"{n:04d}{'長い名前' * 60}": PRICED for n in range(2_000)})
    with pytest.raises(Invalid, match="preferences") as refusal:
        home.preferences.save(vast, 0)
    assert refusal.value.field == "preferences"
    assert refusal.value.cure
    assert home.preferences.get().version == version_seen(home) == 0


def test_a_process_that_starts_later_finds_them(opens: OpenHome, tmp_path: Path) -> None:
    if opens is not sqlite:
        pytest.skip("an account in this process ends with the process")
    with opens(tmp_path, FakeClock(NOW)) as home:
        home.preferences.save(FULL, 0)
    with opens(tmp_path, FakeClock(NOW)) as home:
        assert home.preferences.get() == StoredPreferences(FULL, 1)
        assert version_seen(home) == 1
