"""`opencrab admin simulate learning`: tables in both languages, JSON for scripts, no network."""

import json

import pytest
from typer.testing import CliRunner, Result

from opencrab.engine.simulation.learning.scores import LearningTrialSummary
from opencrab.gateways.cli.app import build_cli_app
from opencrab.gateways.cli.simulation.learning import MOST_SEEDS


def run(*given: str, language: str = "en") -> Result:
    """The command on a small world."""
    said = ["simulate", "learning", "--nights", "3", "--turns", "20", "--language", language]
    return CliRunner().invoke(
        build_cli_app(lambda _options: 0), [*said, *given], env={"COLUMNS": "100"}
    )


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("no effect", "always the best so far", "intervals contain the true value")),
        ("ja", ("効果なし", "その時点の最良のみ", "真の値を含む")),
    ],
)
def test_it_tells_skills_rules_and_what_came_of_it(language: str, words: tuple[str, ...]) -> None:
    found = run(language=language)
    assert found.exit_code == 0, found.output
    assert all(word in found.output for word in (*words, "skill-20"))
    assert max(map(len, found.output.splitlines()[:22])) <= 100


def test_scripts_get_the_same_twice_and_many_worlds_together() -> None:
    first, again = (json.loads(run("--json", "--seed", "4").stdout) for _ in range(2))
    assert first == again
    assert first["seed"] == 4
    many = json.loads(run("--json", "--seeds", "2", "--lying").stdout)
    assert set(many) == {"lessons"}
    lessons = LearningTrialSummary.model_validate_json(json.dumps(many["lessons"]))
    assert (lessons.seeds, lessons.lying) == (2, True)


@pytest.mark.parametrize(
    "wrong", [("--seeds", "0"), ("--seeds", str(MOST_SEEDS + 1)), ("--nights", "0")]
)
def test_a_number_out_of_range_is_refused(wrong: tuple[str, str]) -> None:
    found = run(*wrong)
    assert found.exit_code != 0
    assert wrong[0] in found.output
