"""The dashboard behind CloudFront: its files as `make deploy` uploads them, and what is no file.

The emulator has the bucket's policy, the functions, the behaviors and the headers. It has no cache,
compresses nothing, and reaches no API behind the name of a host of AWS: those answer 502 here.
"""

import http.client
import re
import shutil
import subprocess
from collections.abc import Mapping

import pytest

from infra import page
from opencrab.gateways.rest.page.page_content import SECURITY_HEADERS
from tests.conftest import ROOT
from tests.deployed.emulator import REGION
from tests.deployed.stack import NAME, Stack

pytest_plugins = ["tests.deployed.fixture"]
pytestmark = [
    pytest.mark.deployed,
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("node") is None, reason="the emulator runs functions in Node"),
]

UPLOAD = """
import sys
from infra.page import upload_page
from infra.place import Place
stack, region, bucket = sys.argv[1:]
upload_page(Place(stack, region, None, {}), bucket)
"""


@pytest.fixture(scope="module")
def site(stack: Stack) -> Stack:
    """The stack with its page, uploaded as by `make deploy`, with SAM's Python."""
    bucket = stack.outputs["WebDashboardBucket"]
    python = ROOT / ".venv-sam" / "bin" / "python"
    run = subprocess.run(
        [python, "-c", UPLOAD, NAME, REGION, bucket],
        cwd=ROOT,
        env=stack.emulator.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    return stack


def ask(
    site: Stack, path: str, method: str = "GET", *, scheme: str = "https", **headers: str
) -> tuple[int, Mapping[str, str], bytes]:
    """A request of a browser to the distribution; header names have underscores."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    sent |= {"host": site.outputs["WebDashboardHost"], "x-forwarded-proto": scheme}
    connection = http.client.HTTPSConnection(
        "127.0.0.1", site.emulator.port, timeout=60, context=site.emulator.trust
    )
    try:
        connection.request(method, path, None, sent)
        answer = connection.getresponse()
        given = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, given, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("path", ["/", "/agents/a%2Fb/memory", "/sessions/x?y=z", "/nothing"])
@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_address_of_the_page_gets_it_in_the_language_of_the_browser(
    site: Stack, path: str, language: str
) -> None:
    status, headers, body = ask(site, path, accept_language=f"{language},fr;q=0.1")
    assert status == 200
    assert body == page.page_objects()[f"index.{language}.html"].body
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert headers["cache-control"] == "no-cache"
    assert {name: headers.get(name.lower()) for name in SECURITY_HEADERS} == SECURITY_HEADERS


def test_the_page_finds_all_of_its_files(site: Stack) -> None:
    _, _, body = ask(site, "/")
    named = re.findall(rb'(?:href|src)="(/page/[^"]+)"', body)
    assert len(named) == 3
    for key, each in page.page_objects().items():
        if key.startswith("page/"):
            status, headers, content = ask(site, f"/{key}")
            assert (status, content) == (200, each.body)
            assert headers["content-type"] == each.media_type
            assert "immutable" in headers["cache-control"]
            assert {
                name: headers.get(name.lower()) for name in SECURITY_HEADERS
            } == SECURITY_HEADERS


def test_a_file_that_is_not_there_is_no_page(site: Stack) -> None:
    for path in ("/page/0123456789abcdef/main.js", "/page/", "/page/../index.en.html"):
        status, _, body = ask(site, path)
        assert status in {403, 404}
        assert b"<!doctype html>" not in body


@pytest.mark.parametrize("path", ["/api/health", "/api/agents/x", "/approve?x=y", "/ws"])
def test_what_an_api_answers_is_never_replaced_by_the_page(site: Stack, path: str) -> None:
    status, _, body = ask(site, path)
    assert status == 502
    assert b"<noscript>" not in body


def test_the_page_takes_no_change_and_the_api_no_key_in_clear(site: Stack) -> None:
    assert ask(site, "/", "POST")[0] == 403
    status, headers, _ = ask(site, "/agents", scheme="http")
    assert (status, headers["location"][:8]) == (301, "https://")
    assert ask(site, "/api/agents", scheme="http")[0] == 403


def test_nobody_reads_the_bucket_past_cloudfront(site: Stack) -> None:
    bucket = site.outputs["WebDashboardBucket"]
    connection = http.client.HTTPSConnection(
        "127.0.0.1", site.emulator.port, timeout=60, context=site.emulator.trust
    )
    connection.request("GET", f"/{bucket}/index.en.html")
    assert connection.getresponse().status == 403
    connection.close()
