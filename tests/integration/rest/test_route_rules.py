"""Every route, asked with every kind of key: what one may not see does not exist."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.integration.rest.house import House, documented
from tests.integration.rest.keyring import Keyring
from tests.integration.rest.route_rules import (
    CLIENT_ROUTES,
    HIDDEN,
    KEYS,
    NOBODY,
    OPEN_ROUTES,
    REFUSED,
    ROUTES,
    YES,
    expected_answer,
)
from tests.integration.rest.test_access import BODIES

_PARAMETER = re.compile(r"\{(\w+)\}")
_NONE = {"task_id": "G99", "goal_id": "G99", "path": "nothing.txt"}
_ORDER = ("none", "revoked", *KEYS[3:12], "member", "creator", "owner")
"""Those who change something come last, the owner after all others."""


@pytest.fixture(scope="module")
def keyring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyring]:
    house = House(tmp_path_factory.mktemp("keyring"))
    yield Keyring(house)
    house.close()


def test_the_table_has_every_route() -> None:
    found = {
        f"{method.upper()} {path.removeprefix('/api')}"
        for path, operations in documented()["paths"].items()
        for method in operations
    }
    assert found == set(ROUTES) | OPEN_ROUTES | CLIENT_ROUTES


def test_every_route_answers_every_kind_of_key_as_the_table_says(keyring: Keyring) -> None:
    wrong = asyncio.run(_ask_all(keyring))
    assert not wrong, "\n".join(wrong)


def test_lists_contain_what_the_caller_may_see(keyring: Keyring) -> None:
    everything = {"owner", "all", "legacy"}
    ours = {"creator", "member", "sessions:own", "agent:own", *everything}
    tasks = f"/agents/{keyring.agent}/tasks"
    files = f"/agents/{keyring.agent}/workspace"
    seen = {
        ("/sessions", "id", keyring.session): ours,
        ("/sessions", "id", keyring.other_session): everything
        | {"sessions:other", "sessions:delegate", "agent:other"},
        ("/sessions", "id", keyring.task_session): ours,
        ("/approvals?state=decided", "id", keyring.approval): ours,
        ("/approvals", "id", keyring.approval): ours,
        (tasks, "id", "G1"): ours,
        (tasks.replace("tasks", "goals"), "id", "G1"): ours,
        (files, "path", "memo.txt"): {"agent:own", *everything},
        (files, "path", "public/menu.txt"): set(KEYS[:4]) | {"agent:own", *everything},
    }
    for key in KEYS[:12]:
        for (path, field, item), people in seen.items():
            answer = keyring.house.call("GET", path, key=keyring.keys[key])
            listed = {each[field] for each in answer.json().get("items", ())}
            decided = "decided" in path or path == "/approvals"
            if not decided:
                assert (item in listed) is (key in people), (key, path, item)
            elif key not in people:
                assert item not in listed, (key, path)


async def _ask_all(keyring: Keyring) -> list[str]:
    """Ask every route with every key; return what was not answered as expected."""
    routes = sorted(
        ROUTES, key=lambda route: (not route.startswith("GET"), ROUTES[route] != "decide")
    )
    wrong = []
    async with keyring.house.client() as client:
        for key in _ORDER:
            for route in routes:
                rule = ROUTES[route]
                found = await _outcome(keyring, client, key, route)
                if found != expected_answer(rule, key):
                    wrong.append(f"{key} {route} ({rule}): {found}")
    return wrong


async def _outcome(keyring: Keyring, client: httpx.AsyncClient, key: str, route: str) -> int:
    """What one request was answered; 404 only where the same is said of what does not exist."""
    method, path = route.split()
    names = _PARAMETER.findall(path)
    ids = {} if ROUTES[route] == "owner" else keyring.ids()
    body: Any = BODIES.get(route)
    if route == "POST /sessions":
        body = {"participants": [keyring.agent]}
    if route.endswith("/memory/search"):
        body = {"query": "海"}
    given = {name: ids.get(name, name) for name in names}
    ask = keyring.house.ask
    answer = await ask(client, method, path.format(**given), body, key=keyring.keys[key])
    if answer.status_code in {NOBODY, REFUSED}:
        return answer.status_code
    if answer.status_code != HIDDEN or not names or ROUTES[route] == "owner":
        return YES
    made_up = given | {names[-1]: _NONE.get(names[-1], "made-up")}
    if names[-1] == "principal_id":
        made_up = given | {"session_id": "made-up"}
    twin = await ask(client, method, path.format(**made_up), body, key=keyring.keys[key])
    changed = next(name for name in names if given[name] != made_up[name])
    same = answer.text.replace(given[changed], made_up[changed]) == twin.text
    return HIDDEN if same else YES
