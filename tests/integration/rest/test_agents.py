"""Agents over REST: made, listed, changed under a version, and retired for good."""

import json
from collections.abc import Callable

import pytest
from httpx import Response

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Price
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, ChatRequest
from tests.integration.rest.house import House, problem


@pytest.mark.parametrize(("name", "language"), [("カニ太", "ja"), ("Crabby", "en")])
def test_an_agent_is_created_with_its_soul_identity_and_empty_workspace(
    shared: House, name: str, language: str
) -> None:
    made = shared.made("/agents", {"name": name, "language": language})
    assert (made["name"], made["language"], made["status"]) == (name, language, "active")
    assert made["soul"]["persona_name"] == made["identity"]["name"] == name
    assert shared.got(f"/agents/{made['id']}", key=shared.read) == made
    assert shared.got(f"/agents/{made['id']}/workspace")["items"] == []


@pytest.mark.parametrize(
    ("header", "language"),
    [("ja", "ja"), ("fr, ja-JP;q=0.8", "ja"), ("en-GB,ja", "en"), ("fr", "en"), ("", "en")],
)
def test_an_agent_speaks_the_language_that_its_maker_prefers(
    shared: House, header: str, language: str
) -> None:
    made = shared.made("/agents", {"name": "Mika"}, headers={"Accept-Language": header})
    assert made["language"] == language


def test_a_list_goes_on_from_its_cursor_and_tells_everybody_once(house: House) -> None:
    ids = [house.agent(f"蟹 {n}") for n in range(5)]
    found: list[str] = []
    query: str | None = "?limit=2"
    while query is not None:
        page = house.got(f"/agents{query}")
        found += [agent["id"] for agent in page["items"]]
        cursor = page["next_cursor"]
        query = f"?limit=2&cursor={cursor}" if cursor else None
    assert found == sorted(ids)


def test_a_put_returns_what_is_left_out_to_its_default(shared: House) -> None:
    agent_id = shared.agent("Mika", language="ja", purpose="海を守る", policy="strict")
    answer = shared.call("PUT", f"/agents/{agent_id}", {"name": "美香"})
    changed = answer.json()
    assert (changed["name"], changed["purpose"], changed["policy"]) == ("美香", "", "guarded")
    assert changed["version"] == 2
    assert answer.headers["etag"] == '"2"'


def test_a_patch_changes_what_it_names_and_null_returns_a_limit(shared: House) -> None:
    agent_id = shared.agent("Mika", purpose="watch", day_limit_micro_usd=5)
    changed = shared.call("PATCH", f"/agents/{agent_id}", {"status": "dormant"}).json()
    assert (changed["status"], changed["purpose"]) == ("dormant", "watch")
    assert changed["day_limit_micro_usd"] == 5
    body = {"day_limit_micro_usd": None, "purpose": None}
    changed = shared.call("PATCH", f"/agents/{agent_id}", body).json()
    assert (changed["day_limit_micro_usd"], changed["purpose"]) == (None, "watch")


@pytest.mark.parametrize(
    ("part", "body"),
    [
        ("soul", {"persona_name": "静かな蟹", "custom_traits": {"癖": "横歩き"}}),
        ("soul", {"persona_name": "Calm", "personality": {"openness": 0.9}}),
        ("identity", {"name": "司会", "role": "custom", "custom_role": "進行役"}),
        ("identity", {"name": "Chair", "role": "facilitator", "organization": "Reef"}),
    ],
)
def test_soul_and_identity_are_replaced_whole(
    shared: House, part: str, body: dict[str, object]
) -> None:
    place = f"/agents/{shared.agent()}/{part}"
    answer = shared.call("PUT", place, body)
    assert answer.status_code == 200
    assert answer.headers["etag"] == '"2"'
    assert shared.got(place) == answer.json()
    assert (
        answer.json().items()
        >= {name: body[name] for name in body if name != "personality"}.items()
    )


@pytest.mark.parametrize(("language", "style"), [("ja", "外向性 0.9"), ("en", "extraversion 0.9")])
def test_a_soul_is_previewed_as_the_prompt_would_have_it_and_not_stored(
    shared: House, language: str, style: str
) -> None:
    agent_id = shared.agent(language=language, purpose="海を守る")
    before = shared.got(f"/agents/{agent_id}")
    soul = {"persona_name": "蟹江", "personality": {"extraversion": 0.9}}
    place = f"/agents/{agent_id}/soul/preview"
    shown = shared.call("POST", place, {"soul": soul}).json()
    assert all(words in shown["text"] for words in ("蟹江", style, "海を守る"))
    assert shown["estimated_tokens"] > 50
    other = {"soul": soul, "identity": {"name": "x", "job_title": "漁師"}, "purpose": "Fish"}
    text = shared.call("POST", place, other).json()["text"]
    assert ("漁師" in text, "Fish" in text, "海を守る" in text) == (True, True, False)
    assert shared.got(f"/agents/{agent_id}") == before


class Answering(Scripted):
    """A model with a price that counts its answers and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(price=Price(input_per_million=1_000_000, output_per_million=2_000_000))
        self.asked: list[ChatRequest] = []

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        self.asked.append(request)
        answer = super().chat(request, body, watch)
        return answer.replaced(text=f"answer {len(self.asked)}")


@pytest.mark.parametrize(("language", "hello"), [("ja", "こんにちは"), ("en", "Hello")])
def test_a_soul_answers_two_questions_that_nothing_stores_and_its_budget_pays(
    house: House, language: str, hello: str
) -> None:
    agent_id = house.agent(language=language)
    model = house.thinking.model = Answering()
    body = {"soul": {"persona_name": "蟹江"}}
    once = {"Idempotency-Key": "s1"}
    first, second = (
        house.made(f"/agents/{agent_id}/soul/sample", body, headers=once) for _ in range(2)
    )
    assert [each["text"] for each in second["answers"]] == ["", ""]
    assert [each["text"] for each in first["answers"]] == ["answer 1", "answer 2"]
    assert first["answers"][0]["question"].startswith(hello)
    assert [len(each.turns) for each in model.asked] == [1, 3]
    assert all("蟹江" in each.system for each in model.asked)
    rows = house.runtime.home.usage.rows(agent_id, limit=10)
    assert len(rows) == 2
    assert sum(row.cost for row in rows) == sum(each["cost_micro_usd"] for each in first["answers"])
    assert house.got("/sessions")["items"] == []
    assert house.got(f"/agents/{agent_id}")["soul"]["persona_name"] == "Mika"


class Repeating(Answering):
    """A model that sends the same request again while it answers, and then perhaps fails."""

    def __init__(self, repeat: Callable[[], None], error: Exception | None) -> None:
        super().__init__()
        self.repeat, self.error = repeat, error

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        answer = super().chat(request, body, watch)
        self.repeat()
        if self.error is not None:
            raise self.error
        return answer


@pytest.mark.parametrize("error", [None, ModelCallFailed("gone", Fault.BAD_REQUEST)])
def test_a_repeat_of_an_unfinished_sample_asks_no_model(
    house: House, error: Exception | None
) -> None:
    agent_id = house.agent()
    place, once = f"/agents/{agent_id}/soul/sample", {"Idempotency-Key": "s1"}
    body = {"soul": {"persona_name": "蟹江"}}
    refused = list[Response]()

    def repeat() -> None:
        if len(model.asked) < 5:
            refused.append(house.call("POST", place, body, headers=once))

    model = house.thinking.model = Repeating(repeat, error)
    first = house.call("POST", place, body, headers=once)
    calls = 2 if error is None else 1
    assert (first.status_code == 200) == (error is None)
    if error is not None:
        repeat()
    assert len(model.asked) == calls
    assert len(house.runtime.home.usage.rows(agent_id, limit=10)) == calls
    assert len(refused) == 2
    for each in refused:
        found = problem(each, 409, "Idempotency-Key")
        assert "still running or has failed" in found["detail"]
        assert "use a new Idempotency-Key" in found["cure"]


def test_a_soul_answers_nothing_for_a_frozen_retired_or_spent_agent(house: House) -> None:
    body = {"soul": {"persona_name": "x"}}
    model = house.thinking.model = Answering()
    frozen, retired, spent = (
        house.agent("a"),
        house.agent("b"),
        house.agent("c", day_limit_micro_usd=0),
    )
    state = {"state": "frozen", "agent_id": frozen}
    assert house.call("PUT", "/system/state", state).status_code == 200
    house.call("DELETE", f"/agents/{retired}")
    for agent_id, status in ((frozen, 403), (retired, 409), (spent, 429)):
        problem(house.call("POST", f"/agents/{agent_id}/soul/sample", body), status)
    assert model.asked == []


@pytest.mark.parametrize("path", ["", "/soul", "/identity"])
def test_a_change_of_an_older_version_is_a_conflict(shared: House, path: str) -> None:
    agent_id = shared.agent()
    body = {"persona_name": "b"} if path == "/soul" else {"name": "b"}
    place, first = f"/agents/{agent_id}{path}", {"If-Match": '"1"'}
    assert shared.call("PUT", place, body, headers=first).status_code == 200
    found = problem(shared.call("PUT", place, body, headers=first), 409, "If-Match")
    assert found["cure"] == "load it again and repeat the change"
    assert shared.got(f"/agents/{agent_id}")["version"] == 2
    fresh = shared.call("PUT", place, body, headers={"If-Match": '"2"'})
    assert fresh.status_code == 200


def test_a_retired_agent_stays_readable_and_cannot_be_changed_or_invited(shared: House) -> None:
    agent_id = shared.agent()
    for _ in range(2):
        assert shared.call("DELETE", f"/agents/{agent_id}").json()["status"] == "retired"
    assert shared.got(f"/agents/{agent_id}")["status"] == "retired"
    problem(shared.call("PATCH", f"/agents/{agent_id}", {"name": "b"}), 409)
    problem(shared.call("PUT", f"/agents/{agent_id}/soul", {"persona_name": "b"}), 409)
    problem(shared.call("POST", "/sessions", {"participants": [agent_id]}), 409, "participants")


def test_a_patch_cannot_retire_by_mistake(shared: House) -> None:
    agent_id = shared.agent()
    answer = shared.call("PATCH", f"/agents/{agent_id}", {"status": "retired"})
    assert "DELETE" in problem(answer, 422, "status")["cure"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_model_that_is_not_configured_is_refused(shared: House, method: str) -> None:
    path = "/agents" if method == "POST" else f"/agents/{shared.agent()}"
    answer = shared.call(method, path, {"name": "Mika", "model": "openai:gpt-none"})
    assert problem(answer, 422, "model")["cure"] == "use scripted:rules"


def test_a_message_after_everybody_retired_is_a_conflict(shared: House) -> None:
    agent_id = shared.agent()
    session_id = shared.session(agent_id)
    shared.call("DELETE", f"/agents/{agent_id}")
    answer = shared.call("POST", f"/sessions/{session_id}/messages", {"text": "誰か？"})
    problem(answer, 409)


@pytest.mark.parametrize("name", ["ad\u202emin", "管\u200b理者"])
def test_a_new_name_with_hidden_characters_is_refused(house: House, name: str) -> None:
    agent_id = house.agent("葵")
    path = f"/agents/{agent_id}"
    for method, place, body in [
        ("POST", "/agents", {"name": name}),
        ("POST", "/agents", {"name": "葵", "identity": {"job_title": name}}),
        ("POST", "/keys", {"name": name}),
        ("POST", "/sessions", {"participants": [agent_id], "name": name}),
        ("POST", f"/agents/{agent_id}/tasks", {"instruction": "数えて", "name": name}),
        ("PATCH", path, {"name": name}),
        ("PUT", path, {"name": name}),
        ("PUT", f"{path}/soul", {"persona_name": name}),
        ("PUT", f"{path}/identity", {"name": "葵", "organization": name}),
    ]:
        told = problem(house.call(method, place, body), 422)
        assert "invisible characters" in json.dumps(told), (method, place)
    session_id = house.session(agent_id)
    body = {"text": "はい", "sender_name": name}
    problem(house.call("POST", f"/sessions/{session_id}/messages", body), 422)
    assert house.got(path)["name"] == "葵"


def test_a_hidden_name_of_an_earlier_release_is_read_and_may_stay(house: House) -> None:
    agent_id = house.agent("葵")
    profile = house.runtime.home.agents.get(agent_id)
    identity = profile.identity.replaced(name="葵\u200b")
    house.runtime.home.agents.save(profile.agent.replaced(name="葵\u200b"), identity=identity)
    path = f"/agents/{agent_id}"
    assert house.got(path)["name"] == "葵\u200b"
    kept = house.got(f"{path}/identity")
    changed = house.call("PUT", f"{path}/identity", {**kept, "job_title": "司書"})
    assert (changed.status_code, changed.json()["name"]) == (200, "葵\u200b")
    assert house.call("PATCH", path, {"purpose": "本を数える"}).status_code == 200
    assert house.call("PATCH", path, {"name": "葵"}).json()["name"] == "葵"
