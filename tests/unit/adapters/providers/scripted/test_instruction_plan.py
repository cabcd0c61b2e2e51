"""The scripted model's plan: which times it knows, and that nothing of the instructions is lost."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.scripted.instruction_plan import scripted_plan
from opencrab.domain.autonomy.instruction_answer import parse_autonomy_instruction_plan
from opencrab.domain.autonomy.instruction_plan import PlannedGoal

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def plan(text: str) -> tuple[PlannedGoal, ...]:
    answer = scripted_plan(text, lambda words: "a.md" if "a.md" in words else None)
    return parse_autonomy_instruction_plan(
        answer, now=NOW, zone="UTC", is_action=lambda _name: True
    )[0]


@pytest.mark.parametrize(
    ("text", "words", "times"),
    [
        ("Write a.md: hello", "Write a.md: hello", ""),
        ("Daily at 8 write a.md: hello", "write a.md: hello", "0 8 * * *"),
        ("Every day at 6:30 pm, say hello", "say hello", "30 18 * * *"),
        ("Say hello every Monday at 9am", "Say hello", "0 9 * * 1"),
        ("Every 2 hours look for news.", "look for news", "@every 2h"),
        ("every morning greet", "greet", "0 8 * * *"),
        ("Once a day write a.md: hello", "write a.md: hello", "0 8 * * *"),
        ("Look for news once a week at 9", "Look for news", "0 9 * * 1"),
        ("Once an hour look for news", "look for news", "@every 1h"),
        ("1日に1回、a.mdに「やあ」と書いて", "a.mdに「やあ」と書いて", "0 8 * * *"),
        ("週に一度、9時に掃除する", "掃除する", "0 9 * * 1"),
        ("毎日8時にa.mdに「やあ」と書いて", "a.mdに「やあ」と書いて", "0 8 * * *"),
        ("毎朝7時半にa.mdを見直す。", "a.mdを見直す", "30 7 * * *"),
        ("毎週月曜日の午後3時に掃除する", "掃除する", "0 15 * * 1"),
        ("30分ごとにニュースを見る", "ニュースを見る", "@every 30m"),
    ],
)
def test_a_time_in_a_sentence_becomes_the_goals_time(text: str, words: str, times: str) -> None:
    (goal,) = plan(text)
    assert (goal.words, goal.times, goal.flaw) == (words, times, None)
    assert goal.done_when == ("file:a.md" if "a.md" in words else "")


@pytest.mark.parametrize(
    "text",
    [
        "Write a.md: every day is a good day",
        "Write a.md: once upon a time",
        "a.mdに「毎日が楽しい」と書いて",
        "Report on a.md",
        "When a.md changes, read a.md",
        "a.mdが来たら読んで",
    ],
)
def test_what_is_written_is_no_time_and_a_file_no_event(text: str) -> None:
    (goal,) = plan(text)
    assert (goal.words, goal.times, goal.event, goal.once) == (text, "", "", False)


@pytest.mark.parametrize("text", ["Say hello once", "一度だけ「やあ」と言って"])
def test_once_is_once(text: str) -> None:
    (goal,) = plan(text)
    assert (goal.once, goal.times) == (True, "")


@pytest.mark.parametrize(
    "text", ["When world.bounty comes, write a.md: x", "world.bountyが来たらa.mdに「x」と書いて"]
)
def test_an_event_is_what_a_goal_waits_for(text: str) -> None:
    (goal,) = plan(text)
    assert (goal.event, goal.done_when) == ("world.bounty", "file:a.md")


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4_000))
def test_any_instructions_get_a_plan_that_passes(text: str) -> None:
    answer = scripted_plan(text, lambda _words: None)
    if json.loads(answer)["goals"]:
        parse_autonomy_instruction_plan(answer, now=NOW, zone="UTC", is_action=lambda _name: True)
    else:
        assert not any(character.isalnum() for character in text)


def test_more_than_fits_stays_together_in_the_last_goal() -> None:
    goals = plan("\n".join(f"Feed crab {number}" for number in range(20)))
    assert len(goals) == 8
    assert "Feed crab 19" in goals[-1].words
