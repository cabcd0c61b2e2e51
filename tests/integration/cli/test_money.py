"""Models and money at the terminal, with a real server: seen, limited, explained and stopped."""

import json

import pytest

from tests.integration.cli.house import House, free_port


def value(house: House, *args: str) -> object:
    """What a command answers to a script."""
    said = house.run(*args, "--json")
    assert (said.code, said.err) == (0, "")
    return json.loads(said.out)


def test_every_model_is_listed_with_its_provider(house: House) -> None:
    models = value(house, "models")
    assert isinstance(models, list)
    assert {"name": "scripted:rules", "provider": "scripted"}.items() <= next(
        model for model in models if model["name"] == "scripted:rules"
    ).items()
    assert "scripted:rules" in house.run("models", "--provider", "scripted").out
    assert "scripted" in house.run("providers", LANG="ja_JP.UTF-8").out


@pytest.mark.parametrize(
    ("name", "locale", "said"),
    [
        ("Ada", "en_US.UTF-8", "the calls add up to the turn's cost"),
        ("さくら", "ja_JP.UTF-8", "呼び出しの合計は、ターンの支出と一致しています"),
    ],
)
def test_a_turns_money_is_explained(house: House, name: str, locale: str, said: str) -> None:
    report = value(house, "chat", name, "--say", "write a.txt: crab")
    assert isinstance(report, dict)
    turn = report["turn_ids"][0]
    shown = house.run("costs", "--turn", turn, LANG=locale)
    assert (shown.code, shown.err) == (0, "")
    assert said in shown.out
    assert "scripted:rules" in shown.out
    explained = value(house, "costs", "--turn", turn)
    assert isinstance(explained, dict)
    assert explained["spent_micro_usd"] == sum(c["cost_micro_usd"] for c in explained["calls"])
    table = house.run("costs", "--agent", name, "--by", "model", "--period", "last_hour")
    assert "scripted:rules" in table.out


def test_an_agent_is_frozen_and_works_again(house: House) -> None:
    house.run("agents", "create", "--name", "Frost")
    assert (
        house.run("freeze", "Frost").out == "froze Frost: its turns stop before their next step\n"
    )
    frozen = house.run("chat", "Frost", "--say", "write b.txt: crab")
    assert "b.txt" not in house.run("chat", "Frost", "--say", "list").out
    assert (frozen.code, frozen.out) == (7, "")
    assert house.run("unfreeze", "Frost").out == "unfroze Frost\n"
    assert value(house, "unfreeze") == {"state": "running", "frozen_agents": []}
    assert (
        "crab"
        in house.run("chat", "Frost", "--say", "write b.txt: crab").out
        + house.run("chat", "Frost", "--say", "read b.txt").out
    )


def test_limits_are_set_shown_and_returned(house: House) -> None:
    changed = value(house, "budgets", "--set", "turn=0.25")
    assert isinstance(changed, dict)
    assert changed["limits"]["turn_micro_usd"] == 250_000
    assert changed["changed"] == ["turn_micro_usd"]
    assert "$0.25" in house.run("budgets", "--agent", "Ada").out
    assert "$0.25 per turn" in house.run("doctor").out
    assert "(set at runtime: turn_usd)" in house.run("doctor").out
    back = value(house, "budgets", "--reset")
    assert isinstance(back, dict)
    assert (back["changed"], back["limits"]) == ([], back["configured"])


def test_prices_are_fetched_from_the_address_in_the_settings(house: House) -> None:
    nowhere = {"OPENCRAB_LLM__PRICES_URL": f"https://127.0.0.1:{free_port()}/prices.json"}
    refused = house.run("models", "refresh-prices", **nowhere)
    assert (refused.code, refused.out) == (3, "")
    assert refused.err.startswith("opencrab: ")
    plain = {"OPENCRAB_LLM__PRICES_URL": "http://example.com/prices.json"}
    assert "https" in house.run("models", "refresh-prices", **plain).err
