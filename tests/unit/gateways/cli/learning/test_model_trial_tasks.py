"""Evaluation tasks: their checks, in both languages, and files that are wrong."""

from pathlib import Path

import pytest

from opencrab.domain.errors import Invalid
from opencrab.gateways.cli.learning.model_trial_tasks import (
    SHIPPED,
    AnswerCheck,
    read_learning_trial_tasks,
)

RIGHT = {
    "name": ("I am 蟹.", "蟹です。"),
    "arithmetic": ("29", "２９個です"),
    "extraction": ("A-4471", "番号はa-4471"),
    "form": ("apple, pear, plum", "りんご、なし、もも"),
    "json": ('{"city": "Tokyo", "legs": 10}', '{"legs":10,"city":"Tokyo"}'),
    "code": ("20", "答えは20です"),
    "reasoning": ("Aki", "アキ"),
}
WRONG = {
    "name": "I am a model.",
    "arithmetic": "36",
    "extraction": "90210",
    "form": "Here are three: apple, pear, plum, fig",
    "json": "```json\n{}\n```",
    "code": "30",
    "reasoning": "Chie",
}


def test_the_shipped_tasks_tell_right_from_wrong_in_both_languages() -> None:
    tasks = read_learning_trial_tasks(SHIPPED)
    assert {task.id for task in tasks} == RIGHT.keys() == WRONG.keys()
    for task in tasks:
        english, japanese = task.question("en", "蟹"), task.question("ja", "蟹")
        assert english.isascii()
        assert not japanese.isascii()
        assert [task.score(answer, "蟹") for answer in RIGHT[task.id]] == [1.0, 1.0], task.id
        assert task.score(WRONG[task.id], "蟹") < 1.0, task.id
        assert task.score("", "蟹") < 1.0, task.id


def test_a_number_may_be_off_by_what_is_said_and_have_commas() -> None:
    near = AnswerCheck(number=1_234.5, within=0.1)
    assert near.holds("about 1,234.45 in all", "")
    assert not near.holds("about 1,234.3 in all", "")
    assert AnswerCheck(number=-3.0).holds("It is \u22123.", "")


def test_a_file_of_ones_own_is_read(tmp_path: Path) -> None:
    path = tmp_path / "tasks.toml"
    path.write_text(
        '[[tasks]]\nid = "hi"\nask = "Greet {name}."\nchecks = [{ contains = ["hello", "やあ"] }]'
    )
    (task,) = read_learning_trial_tasks(path)
    assert task.question("ja", "Ada") == "Greet Ada."
    assert (task.score("HELLO!", "Ada"), task.score("bye", "Ada")) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read"),
        ("[[tasks]", "is not valid TOML"),
        ("", "tasks"),
        ('[[tasks]]\nid = "a"\nask = "b"\nchecks = [{}]', "exactly one of number"),
        ('[[tasks]]\nid = "a"\nask = ""\nchecks = [{ number = 1 }]', "ask is blank"),
        (
            '[[tasks]]\nid = "a"\nask = "b"\nchecks = [{ regex = "(" }]',
            "not a valid regular expression",
        ),
        ('[[tasks]]\nid = "a"\nask = "b"\nchecks = [{ number = 1 }]\nmore = 1', "more"),
        ('[[tasks]]\nid = "a"\nask = "b"\nchecks = [{ number = 1 }]\n' * 2, "are named a"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path: Path, text: str | None, says: str) -> None:
    path = tmp_path / "tasks.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(Invalid, match=says):
        read_learning_trial_tasks(path)
