"""Routes, and modules of routes, that cost nothing until a request may be theirs.

FastAPI works out a route's parameters, models and answers when it is declared: of some 200 routes a
process needs a few. Here the first request whose path fits does that.
"""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from threading import RLock
from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match, compile_path, get_name
from starlette.types import Receive, Scope, Send

_CHOSEN = "opencrab.route"
"""Where the route that answers is kept in an ASGI scope."""

_COMPILED = ("path_regex", "path_format", "param_convertors")

_WORKING_OUT = RLock()
"""Held by the thread that works a route out, for a request or the OpenAPI document."""


def may_match_template(template: list[str], segments: list[str]) -> bool:
    """Check whether a path may fit a template such as `/api/agents/{agent_id}`, both split at `/`.

    True is a guess that the route itself confirms; False is certain.
    """
    for position, part in enumerate(template):
        if part.startswith("{"):
            if part.endswith(":path}"):
                return len(segments) > position
            continue
        if position >= len(segments) or segments[position] != part:
            return False
    return len(template) == len(segments)


def _place(segments: list[str]) -> tuple[str, str]:
    """Return the words of a path, such as `agents` and `goals` in `/api/agents/{agent_id}/goals`.

    One is "" if there is none, or another one in each path; then so is the second.
    """
    kind, part = (*segments[2:5:2], "", "")[:2]
    if kind.startswith("{"):
        return "", ""
    return kind, "" if part.startswith("{") else part


class LazyRoute(APIRoute):
    """FastAPI's route, worked out when an attribute is asked for that only then exists."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **declared: Any) -> None:
        self.path = path
        self.endpoint = endpoint
        self.name = declared.get("name") or get_name(endpoint)
        self.methods = {method.upper() for method in declared.get("methods") or ["GET"]}
        self._declared = declared
        self._segments = path.split("/")

    def __getattr__(self, name: str) -> Any:
        """Work the route out; Python asks here only for attributes that are missing."""
        if name.startswith("__"):
            raise AttributeError(name)
        with _WORKING_OUT:
            if name not in self.__dict__:
                self._work_out(name)
        return getattr(self, name)

    def _work_out(self, name: str) -> None:
        declared = self.__dict__.pop("_declared", None)
        if declared is None:
            raise AttributeError(name)
        try:
            if name not in _COMPILED:
                super().__init__(self.path, self.endpoint, **declared)
                declared = None
            else:
                self.path_regex, self.path_format, self.param_convertors = compile_path(self.path)
        finally:
            # After an error too: the next request is to meet the same one.
            if declared is not None:
                self._declared = declared

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Compare the path; most routes say no by its segments alone."""
        if not may_match_template(self._segments, scope["path"].split("/")):
            return Match.NONE, {}
        return super().matches(scope)


class LazyParts(BaseRoute):
    """All routes of modules that load with the first request whose path fits one of theirs."""

    def __init__(self, package: str, parts: Mapping[str, Iterable[str]]) -> None:
        self._names = [f"{package}.{part}" for part in parts]
        self._templates: dict[tuple[str, str], list[tuple[list[str], int]]] = {}
        for number, templates in enumerate(parts.values()):
            for template in (each.split("/") for each in templates):
                self._templates.setdefault(_place(template), []).append((template, number))
        self._loaded: dict[int, list[BaseRoute]] = {}

    def routes(self) -> list[BaseRoute]:
        """Load every module; return all routes in order."""
        return [route for number in range(len(self._names)) for route in self._load(number)]

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Ask the routes of the modules that fit, as a router does: a whole match before a part."""
        segments = scope["path"].split("/")
        kind, part = _place(segments)
        fitting = {
            number
            for place in {(kind, part), (kind, ""), ("", "")}
            for template, number in self._templates.get(place, ())
            if template[1] == segments[1] and may_match_template(template, segments)
        }
        partial: tuple[Match, Scope] = Match.NONE, {}
        for route in (route for number in sorted(fitting) for route in self._load(number)):
            match, child = route.matches(scope)
            if match is Match.FULL:
                return match, {**child, _CHOSEN: route}
            if match is Match.PARTIAL and partial[0] is Match.NONE:
                partial = match, {**child, _CHOSEN: route}
        return partial

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the route answer that was chosen."""
        await scope[_CHOSEN].handle(scope, receive, send)

    def _load(self, number: int) -> list[BaseRoute]:
        # As they are: to include a router is to make each of its routes a second time.
        if number not in self._loaded:
            self._loaded[number] = import_module(self._names[number]).router.routes
        return self._loaded[number]
