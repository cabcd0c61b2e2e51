"""The panel of a task: a task in which nothing was done is not shown as completed."""

import pytest

from opencrab.engine.goals.progress import Standing
from opencrab.gateways.cli.goals.task_panel import action_text_in_goal_panel, goal_task_status_text
from opencrab.gateways.cli.language.sentences import CliLanguage, SentenceCatalog


@pytest.mark.parametrize(
    ("language", "told"), [("en", "answered, nothing done"), ("ja", "回答のみ(作業なし)")]
)
def test_a_task_with_only_words_says_so(language: str, told: str) -> None:
    words = SentenceCatalog(CliLanguage(language))
    assert goal_task_status_text(words, {"status": Standing.ANSWERED.value}) == told


@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_status_has_a_word(language: str) -> None:
    words = SentenceCatalog(CliLanguage(language))
    told = {goal_task_status_text(words, {"status": each.value}) for each in Standing}
    assert len(told) == len(Standing)


def test_an_action_is_shown_with_its_reason() -> None:
    deed = {"id": "c1_0", "sentence": "「n.md」を書く", "mark": "done", "seconds": 1.5}
    shown = action_text_in_goal_panel({**deed, "result": None, "reason": "忘れないため\nまず書く"})
    assert shown.plain == "✓ 「n.md」を書く 1.5 s (忘れないため まず書く)"
    older = action_text_in_goal_panel({**deed, "result": None})
    assert older.plain == "✓ 「n.md」を書く 1.5 s"
