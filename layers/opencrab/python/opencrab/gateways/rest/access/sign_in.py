"""Sign-in links: a code opens the page once, without a key that is typed.

Only a process on the owner's computer has codes: they live in its memory. ADR 0042 says why the
page gets a key and no cookie.
"""

from datetime import datetime
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import FastAPI, Header, Request, Response
from pydantic import Field

from opencrab.domain.errors import Conflict, NotFound, Refused
from opencrab.domain.value import Value
from opencrab.engine.access.sign_in_codes import SignInCodes
from opencrab.gateways.rest.http.access import Owner, secret_of_http_request
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.idempotency import Repeatable

PATH = "/api/sign-in"
PAGE_SETTING = "dashboard.enabled"

router = http_routes_below(PATH, "keys")


class SignInPost(Value, defer_build=False):
    """The code of a sign-in link."""

    code: str = Field(min_length=1, max_length=200, description="what follows `#sign-in=`")


class SignInView(Value):
    """The key with which the link was made."""

    key: str


class SignInCodeView(Value):
    """A code for one sign-in; the link is the page's address with `#sign-in=CODE`."""

    code: str | None = Field(description="shown only once, null in a repeated response")
    expires_at: datetime
    port: int | None = Field(
        default=None,
        exclude_if=lambda port: port is None,
        description="the page's port, if it is not the one of this request",
    )


def offer_access_sign_in(app: FastAPI, codes: SignInCodes, *, port: int | None = None) -> None:
    """Let people sign in by links, without which there are none; `port` is the page's own."""
    app.state.sign_in_codes = codes
    app.state.page_port = port


@router.post("", operation_id="sign_in")
def sign_in_with_code(
    _api: Api,
    request: Request,
    response: Response,
    body: Strict[SignInPost],
    origin: Annotated[str, Header(description="that of this server's page")] = "",
) -> SignInView:
    """Sign in with the code of a link.

    It needs no key, and a code works once, within ten minutes. Only the page of this server may
    send it. On AWS there are no links.
    """
    codes = _codes(request.app)
    if not _is_own(origin, request.headers.get("host", "")):
        raise Refused(
            "this Origin is not that of the page",
            field="Origin",
            cure="open the link itself, at the address that OpenCrab printed",
        )
    response.headers["Cache-Control"] = "no-store"
    return SignInView(key=codes.redeem(body.code))


@router.post(
    "/codes", status_code=201, response_model=SignInCodeView, operation_id="create_sign_in_code"
)
def create_sign_in_code(_api: Api, _caller: Owner, once: Repeatable, request: Request) -> Response:
    """Create a code for a sign-in link.

    The first to open the link within ten minutes gets the key of this request. On AWS there are
    no links.
    """
    codes = _codes(request.app)

    def make() -> SignInCodeView:
        made = codes.make(secret_of_http_request(request.headers.raw))
        port = request.app.state.page_port
        return SignInCodeView(code=made.code, expires_at=made.expires_at, port=port)

    return once.answer(
        None,
        make,
        status=201,
        again=_unknown_code,
        remembered=lambda made: made.replaced(code=None),
    )


def _codes(app: FastAPI) -> SignInCodes:
    if not app.state.serves_page:
        raise Refused(
            "the dashboard is off",
            field=PAGE_SETTING,
            cure=f"set {PAGE_SETTING} to true and start OpenCrab again",
        )
    found: SignInCodes | None = getattr(app.state, "sign_in_codes", None)
    if found is None:
        raise NotFound("this installation has no sign-in links", cure="sign in with an API key")
    return found


def _is_own(origin: str, host: str) -> bool:
    """Check whether an Origin is that of the server which was asked; a browser always sends one."""
    try:
        asked = urlsplit(origin)
    except ValueError:
        return False
    return asked.scheme in {"http", "https"} and asked.netloc.lower() == host.lower() != ""


def _unknown_code() -> SignInCodeView:
    raise Conflict(
        "an earlier request with this Idempotency-Key has not finished; its code is lost",
        field="Idempotency-Key",
        cure="use a new Idempotency-Key",
    )
