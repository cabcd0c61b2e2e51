"""An agent's models over REST: what it thinks with, and what its calls came to."""

from functools import partial
from typing import Any

import pytest

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from opencrab.domain.money.budget import Usage
from opencrab.gateways.rest.http.page import http_page_cursor
from opencrab.ports.models.model import ChatRequest
from tests.integration.rest.house import House, problem
from tests.integration.rest.thinking import PRICE

NO_SAMPLING = dict.fromkeys(("temperature", "top_p", "max_output_tokens", "reasoning_effort"))
USAGE = Usage(input_tokens=1_000, output_tokens=100, cached_tokens=400)


class Remembering(Scripted):
    """A scripted model that remembers what it was asked."""

    def encode(self, request: ChatRequest) -> bytes:
        self.asked = (*getattr(self, "asked", ()), request)
        return super().encode(request)


def worked(house: House, *texts: str) -> str:
    """The id of an agent who answered these."""
    house.thinking.model = Scripted(
        [
            ScriptedAnswer(calls=(ScriptedCall("ws_list", {}),), usage=USAGE, when="list"),
            ScriptedAnswer(text="見ました", usage=USAGE, when="list"),
            ScriptedAnswer(text="こんにちは", usage=USAGE, when="こんにちは"),
        ],
        price=PRICE,
    )
    agent_id = house.agent("葵")
    session_id = house.session(agent_id)
    for text in texts:
        house.say(session_id, text)
        house.work()
    return agent_id


def test_an_agent_without_a_say_thinks_as_the_installation_does(house: House) -> None:
    agent_id = house.agent()
    answer = house.call("GET", f"/agents/{agent_id}/llm/config")
    found = answer.json()
    assert answer.headers["etag"] == '"1"'
    assert (found["model"], found["models"], found["private"]) == (None, {}, False)
    assert found["effective"]["conversation"] == {
        "model": "scripted:rules",
        "by": "default",
        "problem": "",
        "learned": {},
        "sampling": NO_SAMPLING,
    }
    thinking = found["effective"]["thinking"]
    assert (thinking["model"], thinking["by"]) == ("openai:dear", "use")
    assert thinking["problem"] == "this model is not configured here"


def test_an_agents_own_say_wins_over_the_installations(house: House) -> None:
    agent_id = house.agent()
    body = {
        "model": "scripted:rules",
        "models": {"thinking": "fast"},
        "self_selection": False,
        "selectable": ["fast"],
        "private": False,
        "aim": {
            "leave": "apply",
            "goal": "minimize_cost",
            "min_quality": 0.8,
            "day_micro_usd": 50_000,
            "explore": 0.1,
            "worded": True,
        },
    }
    answer = house.call("PUT", f"/agents/{agent_id}/llm/config", body)
    found = answer.json()
    assert (answer.headers["etag"], found["version"]) == ('"2"', 2)
    chosen = body | {"aim": {**body["aim"], "chosen": True}}  # type: ignore[dict-item]
    assert {name: found[name] for name in body} == chosen
    by = {use: one["by"] for use, one in found["effective"].items()}
    assert by == {
        "thinking": "permanent",
        "conversation": "agent",
        "analysis": "agent",
        "tool_calling": "agent",
        "creative": "agent",
        "embedding": "default",
    }
    assert house.got(f"/agents/{agent_id}/llm/config") == found
    assert house.got(f"/agents/{agent_id}")["model"] == "scripted:rules"
    back = house.call("PUT", f"/agents/{agent_id}/llm/config", {}).json()
    assert (back["model"], back["models"], back["selectable"]) == (None, {}, None)
    assert back["aim"] == {
        "leave": "recommend",
        "goal": "balance",
        "min_quality": 0.7,
        "day_micro_usd": None,
        "explore": 0.0,
        "worded": False,
        "chosen": False,
    }
    assert back["learning"] == back["aim"] | {"leave": "apply", "explore": 0.2}


def test_what_an_owner_chose_about_learning_is_kept_whatever_the_settings_say(house: House) -> None:
    agent_id = house.agent()
    put = partial(house.call, "PUT", f"/agents/{agent_id}/llm/config")
    for said in ({"leave": "recommend"}, {"explore": 0.0}, {"leave": "recommend", "explore": 0.0}):
        found = put({"aim": said}).json()
        assert found["aim"]["chosen"]
        assert (found["learning"]["leave"], found["learning"]["explore"]) == ("recommend", 0.0)
    goal = put({"aim": {"goal": "minimize_cost"}}).json()
    assert not goal["aim"]["chosen"]
    assert (goal["learning"]["goal"], goal["learning"]["leave"]) == ("minimize_cost", "apply")
    again = put({"aim": goal["aim"]}).json()
    assert again["aim"] == goal["aim"], "what was read may be written as it is"


def test_the_sampling_of_a_use_reaches_the_model(house: House) -> None:
    agent_id = house.agent()
    own = {"temperature": 0.3, "max_output_tokens": 512, "reasoning_effort": "high"}
    body = {"sampling": {"conversation": own}}
    found = house.call("PUT", f"/agents/{agent_id}/llm/config", body).json()
    assert found["sampling"] == {"conversation": {**NO_SAMPLING, **own}}
    # The model here takes no reasoning effort.
    told = {**NO_SAMPLING, "temperature": 0.3, "max_output_tokens": 512}
    assert found["effective"]["conversation"]["sampling"] == told
    model = house.thinking.model = Remembering([ScriptedAnswer(text="はい")])
    house.say(house.session(agent_id), "こんにちは")
    house.work()
    request = model.asked[-1]
    assert (request.temperature, request.max_output_tokens) == (0.3, 512)
    assert request.reasoning_effort is None
    assert house.call("PUT", f"/agents/{agent_id}/llm/config", {}).json()["sampling"] == {}


def test_a_change_of_the_settings_leaves_the_say_alone(house: House) -> None:
    agent_id = house.agent()
    house.call("PUT", f"/agents/{agent_id}/llm/config", {"models": {"creative": "fast"}})
    house.call("PUT", f"/agents/{agent_id}", {"name": "葵"})
    assert house.got(f"/agents/{agent_id}/llm/config")["models"] == {"creative": "fast"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"model": "openai:dear"}, "model"),
        ({"model": "fast"}, "model"),
        ({"models": {"thinking": "smart"}}, "models.thinking"),
        ({"models": {"dreaming": "fast"}}, None),
        ({"models": {"thinking": ""}}, None),
        ({"models": {"thinking": None}}, None),
        ({"models": ["fast"]}, "models"),
        ({"selectable": ["nobody"]}, "selectable.0"),
        ({"selectable": ["fast", "fast"]}, None),
        ({"selectable": ["速い"]}, "selectable.0"),
        ({"selectable": [f"a{n}" for n in range(101)]}, "selectable"),
        ({"self_selection": "yes"}, "self_selection"),
        ({"private": None}, "private"),
        ({"private": 1}, "private"),
        ({"private": True, "models": {"thinking": "fast"}}, "models.thinking"),
        ({"aim": {"leave": "always"}}, "aim.leave"),
        ({"aim": {"goal": "win"}}, "aim.goal"),
        ({"aim": {"min_quality": 7}}, "aim.min_quality"),
        ({"aim": {"day_micro_usd": -1}}, "aim.day_micro_usd"),
        ({"aim": {"explore": 0.6}}, "aim.explore"),
        ({"aim": {"worded": "yes"}}, "aim.worded"),
        ({"aim": None}, "aim"),
        ({"sampling": {"conversation": {"temperature": 2.1}}}, "sampling.conversation.temperature"),
        ({"sampling": {"conversation": {"top_p": 0}}}, "sampling.conversation.top_p"),
        ({"sampling": {"creative": {"max_output_tokens": 1}}}, None),
        ({"sampling": {"creative": {"max_output_tokens": 9_999}}}, None),
        ({"sampling": {"thinking": {"reasoning_effort": "enormous"}}}, None),
        ({"sampling": {"dreaming": {}}}, None),
        ({"sampling": {"embedding": {"temperature": 1}}}, "sampling.embedding"),
        ({"sampling": {"conversation": {"seed": 1}}}, "sampling.conversation.seed"),
    ],
)
def test_a_say_that_cannot_be_is_refused(house: House, body: Any, field: str | None) -> None:
    place = f"/agents/{house.agent()}/llm/config"
    found = problem(house.call("PUT", place, body), 422, field)
    assert found["cure"]
    assert house.got(place)["version"] == 1


def test_a_stale_or_retired_agent_is_not_changed(house: House) -> None:
    agent_id = house.agent()
    place, first = f"/agents/{agent_id}/llm/config", {"If-Match": '"1"'}
    assert house.call("PUT", place, {}, headers=first).status_code == 200
    problem(house.call("PUT", place, {}, headers=first), 409, "If-Match")
    house.call("DELETE", f"/agents/{agent_id}")
    problem(house.call("PUT", place, {}), 409)
    assert house.got(place)["version"] == 3


def test_every_call_has_its_row_the_newest_first(house: House) -> None:
    agent_id = worked(house, "list", "こんにちは")
    page = house.got(f"/agents/{agent_id}/llm/metrics?limit=1")
    rows = list(page["items"])
    while page["next_cursor"]:
        cursor = page["next_cursor"]
        page = house.got(f"/agents/{agent_id}/llm/metrics?limit=1&cursor={cursor}")
        rows += page["items"]
    assert len(rows) == 3
    ids = [row["metrics_id"] for row in rows]
    assert ids == sorted(ids, reverse=True)
    row = rows[0]
    assert (row["provider"], row["model"], row["state"]) == ("scripted", "rules", "completed")
    assert row["usage"]["cached_tokens"] == 400
    assert row["cost"] == PRICE.cost(USAGE) <= row["reserved"]
    assert row["quality_score"] is None


@pytest.mark.parametrize("path", ["metrics/summary", "summary"])
def test_calls_are_summed_up_as_a_whole_and_in_groups(house: House, path: str) -> None:
    agent_id = worked(house, "list", "こんにちは")
    found = house.got(f"/agents/{agent_id}/llm/{path}?period=last_hour")
    cost = 3 * PRICE.cost(USAGE)
    assert (found["total"]["calls"], found["total"]["cost_micro_usd"]) == (3, cost)
    assert (found["complete"], found["period"]) == (True, "last_hour")
    assert set(found["groups"]) == {"model", "purpose", "task_type", "complexity"}
    for groups in found["groups"].values():
        assert sum(one["cost_micro_usd"] for one in groups.values()) == cost
    one = house.got(f"/agents/{agent_id}/llm/{path}?group_by=model")
    assert set(one["groups"]) == {"model"}
    assert one["groups"]["model"]["scripted:rules"]["calls"] == 3


def test_an_agent_that_never_thought_has_an_empty_report(house: House) -> None:
    found = house.got(f"/agents/{house.agent()}/llm/summary?period=all")
    assert (found["total"]["calls"], found["since"], found["complete"]) == (0, None, True)
    assert found["total"]["mean_latency_ms"] is None


@pytest.mark.parametrize(
    "query",
    ["period=last_year", "period=", "group_by=agent", "group_by=", "limit=5", "colour=red"],
)
def test_a_report_is_asked_for_with_real_wishes(house: House, query: str) -> None:
    place = f"/agents/{house.agent()}/llm/summary"
    problem(house.raw("GET", f"{place}?{query}"), 422, query.partition("=")[0])


@pytest.mark.parametrize("path", ["config", "metrics", "metrics/summary", "summary"])
def test_nobody_knows_of_an_unknown_agent(house: House, path: str) -> None:
    problem(house.call("GET", f"/agents/nobody/llm/{path}"), 404)
    problem(house.raw("GET", f"/agents/a%20b/llm/{path}"), 422, "agent_id")


def test_the_cursor_of_another_list_is_refused(house: House) -> None:
    for cursor in (
        http_page_cursor("agents", "x"),
        http_page_cursor("calls", "x"),
        http_page_cursor("calls", "蟹"),
    ):
        answer = house.call("GET", f"/agents/{house.agent()}/llm/metrics?cursor={cursor}")
        problem(answer, 422, "cursor")
