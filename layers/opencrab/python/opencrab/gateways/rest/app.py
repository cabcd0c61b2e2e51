"""The REST application: the middleware that every request passes, and the routes behind it.

The only place that turns errors into status codes, and the only one that catches what nobody
expected.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from opencrab.domain.errors import OpenCrabError
from opencrab.domain.value import Language
from opencrab.engine.discord.setup import BotApplication
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.discord import interactions as discord_door
from opencrab.gateways.rest.http import problem
from opencrab.gateways.rest.http.access import (
    CALLER,
    OPEN_PATHS,
    Caller,
    identify_http_caller,
    secret_of_http_request,
)
from opencrab.gateways.rest.http.body import (
    ClientLeft,
    bounded_http_body,
    may_hold_pictures,
    require_utf8_http_url,
)
from opencrab.gateways.rest.http.dependencies import RestContext
from opencrab.gateways.rest.http.lazy_route import LazyParts
from opencrab.gateways.rest.http.polling import Watch
from opencrab.gateways.rest.parts import PARTS, PARTS_OF_PROTOCOLS

if TYPE_CHECKING:
    from opencrab.engine.insight.vitals import ReadMachine
    from opencrab.ports.installation.configuration import SettingView

log = logging.getLogger(__name__)

_KEYLESS_PATHS = OPEN_PATHS | {discord_door.PATH, PARTS["a2a.card"][0]}
_OF_CLIENTS = ("/v1/", "/a2a/")
"""How paths begin whose errors have the form of a protocol."""

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
        if scope["path"].startswith(_OF_CLIENTS):
            send = _in_form_of_clients(scope, send)
        send = _in_language_of_client(scope, send)
        answering = _Answering(send)
        try:
            await self._pass(scope, receive, answering.send)
        except ClientLeft:
            return
        except Exception:
            # Without the query: that of a signed link is a proof.
            log.exception("unexpected error: method=%s, path=%r", scope["method"], scope["path"])
            if not answering.begun:
                await problem.http_problem_of_unexpected()(scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            require_utf8_http_url(scope)
            if scope["app"].state.serves_page and _accepts_page(scope):
                # Most requests are not for the page, and a cold start does not load it.
                from opencrab.gateways.rest.page.page_files import browser_page_response  # noqa: PLC0415

                await browser_page_response(scope)(scope, receive, send)
                return
            path = scope["path"]
            if path not in _KEYLESS_PATHS and (path[:5] == "/api/" or not _is_signed(path)):
                headers = scope["headers"]
                secret = secret_of_http_request(headers)
                scope[CALLER] = await run_in_threadpool(
                    identify_http_caller, self._runtime.home.keys, headers, secret
                )
            receive = await bounded_http_body(scope, receive, takes_files=_may_send_files(scope))
        except OpenCrabError as error:
            await problem.http_problem(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _in_form_of_clients(scope: Scope, send: Send) -> Send:
    """Return a `send` that gives errors the form of the protocol of a path, if it is on."""
    if scope["path"].startswith("/v1/"):
        from opencrab.gateways.rest.openai.errors import openai_problems  # noqa: PLC0415 - seldom

        return openai_problems(send).send
    if scope["method"] == "POST" and scope["app"].state.a2a is not None:
        from opencrab.gateways.rest.a2a.errors import a2a_problems  # noqa: PLC0415 - seldom needed

        return a2a_problems(send).send
    return send


def _in_language_of_client(scope: Scope, send: Send) -> Send:
    """Return a `send` that translates errors, if the client asks for another language."""
    wished = dict(scope["headers"]).get(b"accept-language", b"").lower()
    if b"ja" not in wished:
        return send
    from opencrab.gateways.language.accept_language import language_of_http_request  # noqa: PLC0415
    from opencrab.gateways.rest.http.problem_form import problems_in_language  # noqa: PLC0415

    language = language_of_http_request(wished.decode("latin-1"))
    return send if language is Language.EN else problems_in_language(send, language).send


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


def _is_signed(path: str) -> bool:
    """Check whether requests of a path bring a signature, which its route checks, and no key."""
    return path.startswith(("/webhooks/", "/channels/"))


def _may_send_files(scope: Scope) -> bool:
    """Check whether a caller may send the body of a file: owners, and others with a message."""
    caller: Caller | None = scope.get(CALLER)
    if caller is None or caller.is_owner:
        return caller is not None
    return may_hold_pictures(scope["path"]) and caller.may_talk


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
            from opencrab.gateways.rest.http.openapi import (  # noqa: PLC0415 - seldom needed
                openapi_document_of_http_routes,
            )

            self.openapi_schema = openapi_document_of_http_routes(build_rest_routes())
        return self.openapi_schema


def create_rest_app(
    runtime: Runtime,
    *,
    watch: Watch,
    setup: Callable[[Language], dict[str, Any]],
    longest_seconds: int | None = None,
    machine: "ReadMachine" = lambda: None,
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
    app = _application()
    optional = {part for parts in PARTS_OF_PROTOCOLS.values() for part in parts}
    app.router.routes.append(_lazy_parts(PARTS.keys() - optional))
    application = bot or BotApplication()
    app.state.rest = RestContext(
        runtime, watch, setup, longest_seconds, machine, application, instance
    )
    app.state.interactions = interactions
    app.state.serves_page = True
    app.state.a2a = None
    app.add_middleware(RequestGate, runtime=runtime)
    return app


def offer_rest_app_settings(app: FastAPI, read: "Callable[[], Sequence[SettingView]]") -> None:
    """Let an application show the settings in effect, which `read` returns."""
    app.state.settings_in_effect = read


def withhold_page_from_rest_app(app: FastAPI) -> None:
    """Let browsers have no page; the routes stay."""
    app.state.serves_page = False


def offer_a2a_to_rest_app(app: FastAPI, agent: str) -> None:
    """Let clients of A2A use an application; `agent` is the id or name of the default one."""
    app.state.a2a = agent
    app.router.routes.append(_lazy_parts(PARTS_OF_PROTOCOLS["a2a"]))


def offer_ag_ui_to_rest_app(app: FastAPI) -> None:
    """Let clients of AG-UI use an application."""
    app.router.routes.append(_lazy_parts(PARTS_OF_PROTOCOLS["ag_ui"]))


def build_rest_routes() -> FastAPI:
    """Return all routes and their error handlers, without an installation: what documents need."""
    app = _application()
    app.router.routes.extend(_lazy_parts(PARTS).routes())
    return app


def _lazy_parts(names: Collection[str]) -> LazyParts:
    return LazyParts(__package__, {name: PARTS[name] for name in PARTS if name in names})


def _application() -> FastAPI:
    return _Application(
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


async def _refused(_request: Request, error: Exception) -> Response:
    return problem.http_problem(cast("OpenCrabError", error))


async def _malformed(_request: Request, error: Exception) -> Response:
    return problem.http_problem_of_validation(cast("RequestValidationError", error).errors())


async def _unrouted(_request: Request, error: Exception) -> Response:
    stopped = cast("HTTPException", error)
    return problem.http_problem_of_status(stopped.status_code, stopped.headers)
