"""The page behind the HTTP API: a browser gets it without a key, a program what it got before."""

import base64
import gzip
import json
import re
from typing import Any

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.gateways.rest.http.lambda_entry import http_request_handler
from opencrab.gateways.rest.page import page_content
from tests.integration.rest.house import House

BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8"


def ask(house: House, path: str, method: str = "GET", **headers: str) -> dict[str, Any]:
    """What the function answers to an event of the HTTP API that has no key."""
    request = {"method": method, "path": path, "sourceIp": "192.0.2.1"}
    event = {
        "version": "2.0",
        "routeKey": f"{method} {path}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": headers,
        "requestContext": {"stage": "$default", "http": request},
        "isBase64Encoded": False,
    }
    return http_request_handler(house.app)(event, None)


def content(answer: dict[str, Any]) -> bytes:
    """The body as the client gets it from API Gateway."""
    text = answer.get("body", "")
    return base64.b64decode(text) if answer["isBase64Encoded"] else text.encode()


def test_a_browser_gets_the_page_and_a_program_what_it_got_before(shared: House) -> None:
    for path in ("/", "/agents", "/agents/a%2Fb/memory"):
        page = ask(shared, path, accept=BROWSER)
        assert page["statusCode"] == 200
        assert page["headers"]["content-type"] == "text/html; charset=utf-8"
    for headers in ({"accept": "application/json"}, {"accept": "*/*"}, {"accept": ""}, {}):
        answer = ask(shared, "/", **headers)
        assert answer["statusCode"] == 401
        assert json.loads(content(answer))["code"] == "unauthenticated"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/"),
        ("GET", "/api/agents"),
        ("GET", "/page"),
        ("GET", "/agent"),
        ("PUT", "/page/a"),
    ],
)
def test_everything_else_takes_a_key_from_a_browser_too(
    shared: House, method: str, path: str
) -> None:
    assert ask(shared, path, method, accept=BROWSER)["statusCode"] == 401


def test_every_file_arrives_whole(shared: House) -> None:
    files = (path for path in page_content.FOLDER.rglob("*") if path.is_file())
    names = {path.relative_to(page_content.FOLDER).as_posix() for path in files} - {"index.html"}
    (version,) = set(re.findall(rb"/page/(\w+)/", content(ask(shared, "/", accept=BROWSER))))
    for name in names:
        answer = ask(shared, f"/page/{version.decode()}/{name}")
        assert content(answer) == (page_content.FOLDER / name).read_bytes()


def test_a_browser_gets_the_files_compressed_through_the_api(shared: House) -> None:
    plain = ask(shared, "/", accept=BROWSER)
    page = ask(shared, "/", accept=BROWSER, **{"accept-encoding": "gzip, br"})
    assert (page["headers"]["content-encoding"], page["isBase64Encoded"]) == ("gzip", True)
    assert gzip.decompress(content(page)) == content(plain)


@pytest.mark.parametrize("scope", Scope)
def test_a_key_says_what_it_is(shared: House, scope: Scope) -> None:
    secret, key = shared.key(scope)
    found = shared.got("/keys/current", key=secret)
    assert (found["id"], found["scope"]) == (key.id, scope.value)
    assert found["principal_id"] == key.principal.id
    assert "hash" not in found
