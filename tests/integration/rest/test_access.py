"""Who may do what over REST: every route, every kind of key."""

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.gateways.rest.http.access import OPEN_PATHS
from tests.cases import for_each
from tests.integration.rest import route_rules
from tests.integration.rest.house import SETUP, House, documented, problem

_OWNERS, _TALKERS = {"owner"}, {"begin", "take_part", "change", "decide"}
_GRANTED = {"metrics", "metrics of all", "agent"}
"""Rules that chat keys do not meet: which read keys do is in `test_route_rules`."""

ROUTES = {
    route: Scope.OWNER if rule in _OWNERS else Scope.CHAT if rule in _TALKERS else Scope.READ
    for route, rule in route_rules.ROUTES.items()
}
BODIES = {
    "POST /agents/{agent_id}/goals": {"name": "x"},
    "POST /agents/{agent_id}/meta/runs": {},
    "POST /agents/{agent_id}/whatif": {"aliases": {"fast": "scripted:rules"}},
    "POST /agents/{agent_id}/events": {"type": "x", "source": "x"},
    "POST /agents": {"name": "x"},
    "POST /agent-imports": {
        "agent": {"name": "x", "soul": {"persona_name": "x"}, "identity": {"name": "x"}},
        "bundle": "0" * 64,
    },
    "POST /agent-imports/{import_id}/finish": {"parts": 0, "files": 0},
    "PUT /agents/{agent_id}": {"name": "x"},
    "PATCH /agents/{agent_id}": {},
    "PUT /agents/{agent_id}/soul": {"persona_name": "x"},
    "POST /agents/{agent_id}/soul/preview": {"soul": {"persona_name": "x"}},
    "PUT /agents/{agent_id}/goal-order": {"goals": []},
    "PUT /agents/{agent_id}/folders/{place}": {"folder": None},
    "POST /presets/card": {"name": "x"},
    "POST /agents/{agent_id}/soul/sample": {"soul": {"persona_name": "x"}},
    "POST /agents/{agent_id}/soul/trait-pair": {"name": "openness"},
    "PUT /agents/{agent_id}/identity": {"name": "x"},
    "POST /sessions": {"participants": ["nobody"]},
    "PATCH /sessions/{session_id}": {"name": "x"},
    "POST /sessions/{session_id}/mentor": {"text": "x"},
    "POST /sessions/{session_id}/messages": {"text": "x"},
    "POST /turns/{turn_id}/decide": {"approved": True},
    "POST /approvals/{approval_id}/decide": {"approved": True},
    "POST /agents/{agent_id}/grants": {"actions": ["ws_write"], "calls": 1, "hours": 1},
    "POST /keys": {"name": "x"},
    "POST /webhooks": {"name": "x", "agent_id": "x"},
    "POST /webhooks/{name}/rotate": {"hours": 1},
    "POST /webhooks/{name}/test": {"body": {}},
    "POST /webhook-events": {
        "name": "x",
        "url": "https://hooks.example.org/",
        "events": ["turn.failed"],
    },
    "POST /webhook-events/{name}/rotate": {"hours": 1},
    "PUT /llm/providers/{name}": {},
    "POST /mcp/servers/{server}/sign-in": {"redirect_uri": "http://127.0.0.1:1/callback"},
    "PUT /mcp/servers/{server}/sign-in": {"answer": "x"},
    "PUT /mcp/servers/{server}/tools/{tool}": {"fingerprint": "0" * 64},
    "PUT /llm/prices": {"prices": {}},
    "PUT /llm/aliases": {"aliases": None},
    "PUT /llm/fallback": {"fallback": None},
    "PUT /agents/{agent_id}/llm/config": {},
    "PUT /budgets": {"limits": None},
    "PUT /system/state": {"state": "running"},
    "POST /system/checks": {},
    "POST /agents/{agent_id}/skills": {"name": "x", "description": "x", "guidance": "x"},
    "PUT /agents/{agent_id}/skills/{skill}": {"description": "x", "guidance": "x"},
    "POST /agents/{agent_id}/skills/{skill}/toggle": {},
    "POST /agents/{agent_id}/tasks": {"instruction": "x"},
    "POST /agents/{agent_id}/tasks/{task_id}/steer": {"text": "x"},
    "PUT /agents/{agent_id}/purpose": {"purpose": "x"},
    "POST /turns/{turn_id}/feedback": {"thumbs": "up"},
    "PUT /discord/commands": {},
    "PUT /agents/{agent_id}/discord": {},
    "POST /agents/{agent_id}/schedules": {"name": "x", "when": "@every 1h", "instructions": "x"},
    "PUT /agents/{agent_id}/schedules/{schedule_id}": {
        "name": "x",
        "when": "@every 1h",
        "instructions": "x",
    },
}
INCLUDED = {scope: list(Scope)[: n + 1] for n, scope in enumerate(Scope)}


def test_the_table_has_every_route_that_takes_a_key() -> None:
    paths = documented()["paths"]
    found = {
        f"{method.upper()} {path.removeprefix('/api')}"
        for path, operations in paths.items()
        for method in operations
    }
    assert found == set(ROUTES) | route_rules.OPEN_ROUTES | route_rules.CLIENT_ROUTES
    assert {"/api/health", "/api/sign-in", "/approve"} == OPEN_PATHS


@for_each("route", ROUTES)
def test_a_route_opens_to_its_scope_and_to_those_above(shared: House, route: str) -> None:
    method, path = route.split()
    path = path.replace("{", "").replace("}", "")
    keys = {Scope.READ: shared.read, Scope.CHAT: shared.chat, Scope.OWNER: shared.owner}
    for scope, key in keys.items():
        answer = shared.call(method, path, BODIES.get(route), key=key)
        if scope is Scope.CHAT and route_rules.ROUTES[route] in _GRANTED:
            problem(answer, 403)
        elif ROUTES[route] in INCLUDED[scope]:
            assert answer.status_code in {200, 201, 404, 422}, answer.text
        else:
            found = problem(answer, 403)
            assert f"--scope {ROUTES[route]}" in found["cure"]


@for_each("route", [*ROUTES, "GET /nowhere", "TRACE /agents", "GET /openapi.json"])
def test_no_route_opens_without_a_valid_key(shared: House, route: str) -> None:
    method, path = route.split()
    secret, key = shared.key(Scope.OWNER)
    shared.runtime.home.keys.revoke(key.id, shared.runtime.clock.now())
    authorizations = ["", "Bearer", "Bearer ", f"Basic {shared.owner}", shared.owner]
    authorizations += [
        "Bearer oc_unknown",
        f"Bearer {secret}",
        f"Bearer {shared.owner} x",
        "Bearer 鍵",
    ]
    for authorization in authorizations:
        answer = shared.call(method, path, headers={"Authorization": authorization})
        problem(answer, 401)
        assert answer.headers["www-authenticate"] == 'Bearer realm="opencrab"'
        assert secret not in answer.text


def test_health_needs_no_key_and_setup_tells_what_is_missing(shared: House) -> None:
    health = shared.raw("GET", "/health", headers={"Authorization": ""})
    assert health.json()["status"] == "ok"
    challenged = shared.raw("GET", "/health", headers={"X-OpenCrab-Challenge": "c" * 64})
    assert "proof" not in challenged.json(), "it serves no data folder"
    assert shared.got("/setup", key=shared.read) == SETUP


def test_the_document_is_served_to_whoever_may_read(shared: House) -> None:
    assert shared.got("/openapi.json", key=shared.read) == documented()


def test_a_key_is_made_listed_without_its_secret_and_revoked_at_once(house: House) -> None:
    made = house.made("/keys", {"name": "居間の端末"})
    assert made["scope"] == "chat"
    assert house.call("GET", "/agents", key=made["secret"]).status_code == 200
    listed = house.call("GET", "/keys")
    assert made["secret"] not in listed.text
    assert listed.json()["items"][-1]["name"] == "居間の端末"
    revoked = house.call("DELETE", f"/keys/{made['id']}").json()
    assert revoked["revoked_at"] is not None
    problem(house.call("GET", "/agents", key=made["secret"]), 401)


def test_keys_are_listed_in_pages(house: House) -> None:
    page = house.got("/keys?limit=2")
    rest = house.got(f"/keys?limit=2&cursor={page['next_cursor']}")
    assert [key["scope"] for key in page["items"] + rest["items"]] == ["owner", "chat", "read"]
    assert rest["next_cursor"] is None


def test_the_last_owner_key_stays(house: House) -> None:
    owner = house.got("/keys")["items"][0]
    problem(house.call("DELETE", f"/keys/{owner['id']}"), 409, "key_id")
    second = house.made("/keys", {"name": "second", "scope": "owner"})
    assert house.call("DELETE", f"/keys/{owner['id']}", key=second["secret"]).status_code == 200
    problem(house.call("DELETE", f"/keys/{second['id']}", key=second["secret"]), 409, "key_id")


@pytest.mark.parametrize(
    ("client", "source", "authority"),
    [("cli", "cli", "owner"), ("browser", "rest", "owner"), (None, "rest", "user")],
)
def test_the_door_and_the_key_decide_on_whose_behalf_a_turn_acts(
    shared: House, client: str | None, source: str, authority: str
) -> None:
    headers = {} if client is None else {"X-OpenCrab-Client": client}
    key = shared.owner if authority == "owner" else shared.chat
    (turn_id,) = shared.say(shared.session(), "hi", headers=headers, key=key)
    turn = shared.got(f"/turns/{turn_id}")
    assert (turn["source"], turn["authority"]) == (source, authority)
