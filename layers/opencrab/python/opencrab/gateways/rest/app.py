"""The REST application: the middleware that every request passes, and the routes behind it.

The only place that turns errors into status codes, and the only one that catches what nobody
expected.
"""

import logging
from collections.abc import Callable
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from opencrab.domain.errors import OpenCrabError
from opencrab.domain.value import Language
from opencrab.engine.discord.setup import BotApplication
from opencrab.engine.insight.vitals import ReadMachine, no_machine_vitals
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.access import api_keys, sign_in
from opencrab.gateways.rest.agents import agents, soul_preview, templates, trait_comparison
from opencrab.gateways.rest.agents import models as agent_models
from opencrab.gateways.rest.approvals import approvals, grants, signed_link
from opencrab.gateways.rest.autonomy import events as happenings
from opencrab.gateways.rest.autonomy import heartbeats, schedules
from opencrab.gateways.rest.conversation import (
    messages,
    server_sent_events,
    sessions,
    turns,
    uploads,
    websocket,
)
from opencrab.gateways.rest.discord import interactions as discord_door
from opencrab.gateways.rest.discord import setup as discord
from opencrab.gateways.rest.discussion import balance, outcome, promises
from opencrab.gateways.rest.goals import goal_order, goals, plans, task_events, tasks
from opencrab.gateways.rest.http import openapi, problem
from opencrab.gateways.rest.http.access import (
    CALLER,
    Caller,
    identify_http_caller,
    secret_of_http_request,
)
from opencrab.gateways.rest.http.body import ClientLeft, bounded_http_body, require_utf8_url
from opencrab.gateways.rest.http.dependencies import RestContext
from opencrab.gateways.rest.http.polling import Watch
from opencrab.gateways.rest.insight import analytics, views, what_if
from opencrab.gateways.rest.installation import checks
from opencrab.gateways.rest.installation import status as state
from opencrab.gateways.rest.learning import changes, experiments, feedback
from opencrab.gateways.rest.memory import (
    archive,
    beliefs_and_peers,
    curation,
    erasure,
    logs,
    search,
    status,
)
from opencrab.gateways.rest.memory import views as memory_views
from opencrab.gateways.rest.models import models, providers
from opencrab.gateways.rest.money import budgets
from opencrab.gateways.rest.peers import policy as peer_policy
from opencrab.gateways.rest.skills import skills
from opencrab.gateways.rest.usage import costs, reconciliation
from opencrab.gateways.rest.workspace import attached_folders, workspace
from opencrab.gateways.rest.world import binding
from opencrab.gateways.rest.world import connection as world_connection

log = logging.getLogger(__name__)

PARTS = (
    agents,
    agent_models,
    soul_preview,
    trait_comparison,
    templates,
    peer_policy,
    skills,
    workspace,
    attached_folders,
    curation,
    archive,
    search,
    logs,
    memory_views,
    status,
    erasure,
    beliefs_and_peers,
    sessions,
    balance,
    outcome,
    promises,
    messages,
    uploads,
    websocket,
    server_sent_events,
    turns,
    tasks,
    task_events,
    goals,
    goal_order,
    plans,
    schedules,
    heartbeats,
    happenings,
    views,
    feedback,
    approvals,
    signed_link,
    grants,
    providers,
    models,
    costs,
    reconciliation,
    budgets,
    api_keys,
    state,
    checks,
    discord,
    discord_door,
    binding,
    world_connection,
    analytics,
    experiments,
    changes,
    what_if,
    sign_in,
)

OPEN_PATHS = openapi.OPEN_PATHS | {discord_door.PATH}
PAGES = frozenset(
    [
        "agents",
        "analytics",
        "approvals",
        "chat",
        "goals",
        "heartbeats",
        "memory",
        "schedules",
        "sessions",
        "settings",
        "skills",
    ]
)
"""How the paths of the page's own addresses begin, beside `/`; `lib/router.js` has the rest."""


class RequestGate:
    """The middleware of every request: it checks address, key and size, and catches any error."""

    def __init__(self, app: ASGIApp, runtime: Runtime) -> None:
        self._app = app
        self._runtime = runtime

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; an unexpected error is logged and gives status 500."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answering = _Answering(send)
        try:
            await self._pass(scope, receive, answering.send)
        except ClientLeft:
            return
        except Exception:
            # Without the query: that of a signed link is a proof.
            log.exception("unexpected error: method=%s, path=%r", scope["method"], scope["path"])
            if not answering.begun:
                await problem.problem_of_unexpected()(scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            require_utf8_url(scope)
            if scope["app"].state.serves_page and _accepts_page(scope):
                # Most requests are not for the page, and a cold start does not load it.
                from opencrab.gateways.rest.page.page_files import page_response  # noqa: PLC0415

                await page_response(scope)(scope, receive, send)
                return
            if scope["path"] not in OPEN_PATHS:
                headers = scope["headers"]
                secret = secret_of_http_request(headers)
                scope[CALLER] = await run_in_threadpool(
                    identify_http_caller, self._runtime.home.keys, headers, secret
                )
            receive = await bounded_http_body(scope, receive, takes_files=_may_send_files(scope))
        except OpenCrabError as error:
            await problem.problem_of_error(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _accepts_page(scope: Scope) -> bool:
    """Check whether a request is for the page or a file of it, which takes no key.

    At the page's addresses other clients than browsers are answered as anywhere else.
    """
    if scope["method"] not in {"GET", "HEAD"}:
        return False
    path: str = scope["path"]
    first = path.split("/")[1]
    if first == "page":
        return path != "/page"
    accepted = (value for name, value in scope["headers"] if name == b"accept")
    return first in {"", *PAGES} and any(b"text/html" in value for value in accepted)


def _may_send_files(scope: Scope) -> bool:
    """Check whether a caller may send the body of a file: owners, and others with a message."""
    caller: Caller | None = scope.get(CALLER)
    if caller is None or caller.is_owner:
        return caller is not None
    return uploads.is_session_upload_path(scope["path"]) and caller.may_talk


class _Answering:
    """A wrapper of `send` that records whether the response has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def send(self, message: Message) -> None:
        self.begun = True
        await self._send(message)


class _Application(FastAPI):
    """FastAPI with our own OpenAPI document."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = openapi.http_openapi_document(self)
        return self.openapi_schema


def create_app(
    runtime: Runtime,
    *,
    watch: Watch,
    setup: Callable[[Language], dict[str, Any]],
    longest_seconds: int | None = None,
    machine: ReadMachine = no_machine_vitals,
    bot: BotApplication | None = None,
    interactions: discord_door.Interactions | None = None,
    instance: str | None = None,
) -> FastAPI:
    """Return the application that serves one installation.

    Args:
        runtime: The installation.
        watch: Wakes clients that wait for a change.
        setup: Returns what is configured, what is missing and what to do, in a language, for
            GET /api/setup.
        longest_seconds: The maximum duration of a request or an event stream; None for no limit.
        machine: Reads the load of the computer that runs OpenCrab.
        bot: The configured Discord bot, with the commands that it should have.
        interactions: Answers interactions of Discord; None if Discord is off or calls elsewhere.
        instance: Proves to clients that this process serves its data folder; None without one.
    """
    app = build_routes()
    application = bot or BotApplication()
    app.state.rest = RestContext(
        runtime, watch, setup, longest_seconds, machine, application, instance
    )
    app.state.interactions = interactions
    app.state.serves_page = True
    app.add_middleware(RequestGate, runtime=runtime)
    return app


def withhold_page(app: FastAPI) -> None:
    """Let browsers have no page; the routes stay."""
    app.state.serves_page = False


def build_routes() -> FastAPI:
    """Return the routes and their error handlers, without an installation."""
    app = _Application(
        title="OpenCrab",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={
            OpenCrabError: _refused,
            RequestValidationError: _malformed,
            HTTPException: _unrouted,
        },
    )
    for part in PARTS:
        # As they are: to include a router is to make each of its routes a second time.
        app.router.routes.extend(part.router.routes)
    return app


async def _refused(_request: Request, error: Exception) -> Response:
    return problem.problem_of_error(cast("OpenCrabError", error))


async def _malformed(_request: Request, error: Exception) -> Response:
    return problem.problem_of_validation(cast("RequestValidationError", error).errors())


async def _unrouted(_request: Request, error: Exception) -> Response:
    stopped = cast("HTTPException", error)
    return problem.problem_of_status(stopped.status_code, stopped.headers)
