"""What-if, a trial of models and a look back at the terminal, with a real server."""

import json
from pathlib import Path

from tests.integration.cli.house import House

TASKS = """
[[tasks]]
id = "greet"
ask = { en = "Say hello.", ja = "挨拶してください。" }
checks = [{ regex = "." }]
"""


def test_models_are_tried_and_their_calls_replayed_with_another(
    house: House, tmp_path: Path
) -> None:
    tasks = tmp_path / "tasks.toml"
    tasks.write_text(TASKS, encoding="utf-8")
    args = ("--persona", "さくら", "--models", "scripted:rules", "--tasks", str(tasks), "--yes")
    tried = house.run("eval", "models", *args, "--json")
    assert (tried.code, tried.err) == (0, "")
    (model,) = json.loads(tried.out)["models"]
    (task,) = model["tasks"]
    assert (task["status"], task["score"], task["stood_in"]) == ("completed", 1.0, False)
    assert (model["calls"], model["cost_micro_usd"]) == (1, 0)
    session = json.loads(house.run("sessions", "show", task["session_id"], "--json").out)
    assert "ended" in json.dumps(session)

    aliased = (
        "さくら",
        "--alias",
        "scripted:rules=openai:gpt-4o",
        "--period",
        "last_day",
        "--json",
    )
    replayed = json.loads(house.run("whatif", *aliased).out)
    assert replayed["moved"] >= 1
    assert replayed["then"]["cost_micro_usd"] > replayed["now"]["cost_micro_usd"] == 0
    unknown = house.run("whatif", "さくら", "--alias", "scripted:rules=openai:nobody")
    assert (unknown.code, "price of 'openai:nobody' is unknown" in unknown.err) == (2, True)


def test_an_agent_is_looked_at_from_the_terminal(house: House) -> None:
    looked = house.run("meta", "run", "さくら", "--dry-run", LANG="ja_JP.UTF-8")
    assert (looked.code, "変更していません" in looked.out) == (0, True)
    whole = json.loads(house.run("analytics", "さくら", "--json").out)
    assert set(whole) == {"usage", "skills", "llm", "memory"}
    assert house.run("analytics", "さくら", LANG="ja_JP.UTF-8").code == 0
    assert house.run("experiments", "さくら").code == 0
    assert house.run("changes", "さくら", LANG="ja_JP.UTF-8").out == ("さくら に変更はありません\n")
