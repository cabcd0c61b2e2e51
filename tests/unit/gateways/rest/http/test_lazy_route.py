"""Routes are worked out, and their modules loaded, by the first request that may be theirs."""

import asyncio
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import FastAPIError
from fastapi.routing import APIRoute
from starlette.routing import Match

from opencrab.gateways.rest.http.lazy_route import LazyParts, LazyRoute, may_match_template

MODULE = """
from fastapi import APIRouter
from opencrab.gateways.rest.http.lazy_route import LazyRoute
router = APIRouter(route_class=LazyRoute)
"""
ROUTE = """
@router.{method}("{path}")
def {name}() -> str:
    return "{name}"
"""


@pytest.mark.parametrize(
    ("template", "path", "fits"),
    [
        ("/api/agents", "/api/agents", True),
        ("/api/agents", "/api/agents/", False),
        ("/api/agents", "/api", False),
        ("/api/agents/{agent_id}", "/api/agents/蟹", True),
        ("/api/agents/{agent_id}", "/api/agents/a/soul", False),
        ("/api/agents/{agent_id}/soul", "/api/agents/a/goals", False),
        ("/files/{path:path}", "/files/日記/今日.md", True),
        ("/files/{path:path}", "/files/", True),
        ("/files/{path:path}", "/files", False),
        ("/files/{path:path}", "/other/a", False),
    ],
)
def test_a_template_is_compared_by_segments(template: str, path: str, *, fits: bool) -> None:
    assert may_match_template(template.split("/"), path.split("/")) is fits


def _scope(path: str, method: str = "GET") -> dict[str, Any]:
    return {"type": "http", "method": method, "path": path}


def _ask(app: FastAPI, method: str, path: str) -> httpx.Response:
    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://crabs") as client:
            return await client.request(method, path)

    return asyncio.run(ask())


def _route() -> LazyRoute:
    router = APIRouter(route_class=LazyRoute)

    @router.get("/crabs/{crab_id}")
    def get_crab(crab_id: int) -> dict[str, int]:
        return {"crab": crab_id}

    (route,) = router.routes
    assert isinstance(route, LazyRoute)
    return route


def test_who_asks_while_a_route_is_worked_out_gets_it_whole() -> None:
    router, others = APIRouter(route_class=LazyRoute), ThreadPoolExecutor(1)
    asked: list[Future[Any]] = []

    def ask_a_second_time(route: APIRoute) -> str:
        asked.append(others.submit(lambda: route.app))
        wait(asked, timeout=0.05)
        return "crabs"

    @router.get("/crabs", generate_unique_id_function=ask_a_second_time)
    def get_crabs() -> str:
        return ""

    (route,) = router.routes
    assert isinstance(route, LazyRoute)
    with others:
        assert route.unique_id == "crabs"
        assert asked[0].result() is route.app


def test_a_mistake_in_a_route_is_told_to_each_request() -> None:
    router = APIRouter(route_class=LazyRoute)

    @router.get("/crabs")
    def get_crabs(crab: threading.Event) -> str:
        return str(crab)

    (route,) = router.routes
    assert isinstance(route, LazyRoute)
    for _ in range(2):
        with pytest.raises(FastAPIError, match="Event"):
            _ = route.app


def test_a_route_of_another_path_is_not_worked_out() -> None:
    route = _route()
    assert route.matches(_scope("/fish/1"))[0] is Match.NONE
    assert not {"dependant", "path_regex"} & set(vars(route))


def test_a_route_of_this_path_and_another_method_is_compared_only() -> None:
    route = _route()
    assert route.matches(_scope("/crabs/1", "PUT"))[0] is Match.PARTIAL
    assert "path_regex" in vars(route)
    assert "dependant" not in vars(route)


def test_a_route_that_answers_checks_its_parameters() -> None:
    app = FastAPI()
    app.router.routes.append(_route())
    assert _ask(app, "GET", "/crabs/7").json() == {"crab": 7}
    assert _ask(app, "GET", "/crabs/red").status_code == 422


def test_a_route_lacks_what_fastapi_does_not_know() -> None:
    route = _route()
    assert route.dependant.path == "/crabs/{crab_id}"
    assert not hasattr(route, "unheard_of")


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LazyParts:
    """Modules; the first two have routes of one path."""
    package = tmp_path / f"parts_of_{tmp_path.name.replace('-', '_')}"
    package.mkdir()
    (package / "__init__.py").touch()
    for name, method, path in (
        ("readers", "get", "/crabs/{crab_id}"),
        ("writers", "post", "/crabs/{crab_id}"),
        ("fish", "get", "/fish"),
        ("legs", "get", "/sea/crabs/{crab_id}/{leg}"),
    ):
        code = MODULE + ROUTE.format(name=name, method=method, path=path)
        (package / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    crabs = ("/crabs/{crab_id}",)
    return LazyParts(
        package.name,
        {
            "readers": crabs,
            "writers": crabs,
            "fish": ("/fish",),
            "legs": ("/sea/crabs/{crab_id}/{leg}",),
        },
    )


def _loaded() -> set[str]:
    return {name.rpartition(".")[2] for name in sys.modules if name.startswith("parts_of_")}


def test_a_module_loads_with_the_first_path_of_its_routes(parts: LazyParts) -> None:
    assert parts.matches(_scope("/fish/1"))[0] is Match.NONE
    before = _loaded()
    assert parts.matches(_scope("/fish"))[0] is Match.FULL
    assert _loaded() - before >= {"fish"}


def test_the_route_that_takes_the_method_answers(parts: LazyParts) -> None:
    app = FastAPI()
    app.router.routes.append(parts)
    assert _ask(app, "GET", "/crabs/1").json() == "readers"
    assert _ask(app, "POST", "/crabs/1").json() == "writers"
    assert _ask(app, "GET", "/fish").json() == "fish"
    assert _ask(app, "GET", "/sea/crabs/蟹/3").json() == "legs"
    assert _ask(app, "GET", "/birds").status_code == 404


def test_a_method_that_no_route_takes_is_refused_by_the_first_of_the_path(
    parts: LazyParts,
) -> None:
    app = FastAPI()
    app.router.routes.append(parts)
    refused = _ask(app, "PUT", "/crabs/1")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET")


def test_all_routes_are_listed_in_order(parts: LazyParts) -> None:
    assert [getattr(route, "name", "") for route in parts.routes()] == [
        "readers",
        "writers",
        "fish",
        "legs",
    ]
