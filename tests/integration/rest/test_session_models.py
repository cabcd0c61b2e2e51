"""Models of one session: an owner names them, and they count there alone."""

from pathlib import Path

import pytest

from tests.integration.rest.house import House, problem
from tests.integration.rest.learning import USAGE, School
from tests.integration.rest.thinking import PRICE

MODELS = {"conversation": "scripted:rules", "thinking": "fast"}


def test_an_owner_names_the_models_of_a_session(house: House) -> None:
    agent = house.agent("Mika", model="scripted:rules")
    body = {"participants": [agent], "models": MODELS}
    session = house.made("/sessions", body)
    assert session["participants"][0]["models"] == MODELS
    house.say(session["id"], "hello")
    house.work()
    (row,) = house.got(f"/agents/{agent}/llm/metrics")["items"]
    assert row["chosen_by"] == "session"
    house.say(house.session(agent), "hello")
    house.work()
    assert house.got(f"/agents/{agent}/llm/metrics")["items"][0]["chosen_by"] == "agent"
    problem(house.call("POST", "/sessions", body, key=house.chat), 403, "models")


def test_what_a_turn_of_such_a_session_cost_is_the_sessions(tmp_path: Path) -> None:
    school = School(tmp_path)
    agent, _ = school.pupil("葵")
    body = {"participants": [agent], "models": {"conversation": "openai:dear"}}
    session = school.made("/sessions", body | {"budget_micro_usd": 1})
    school.say(session["id"], "hello")
    school.work()
    after = school.got(f"/sessions/{session['id']}")
    assert after["spent_micro_usd"] == PRICE.cost(USAGE)
    assert (after["status"], after["ended_by"]) == ("ended", "budget")
    school.close()


@pytest.mark.parametrize(
    ("models", "field"),
    [({"conversation": "openai:nobody"}, "model"), ({"nothing": "fast"}, "models.nothing")],
)
def test_models_that_cannot_be_used_are_refused(
    shared: House, models: dict[str, str], field: str
) -> None:
    body = {"participants": [shared.agent()], "models": models}
    answer = shared.call("POST", "/sessions", body)
    assert answer.status_code == 422
    assert field in answer.text
