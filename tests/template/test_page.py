"""The dashboard behind CloudFront: off makes nothing; on, it sends what the local server sends."""

import json
import shutil
import subprocess
from typing import Any

import pytest

from opencrab.gateways.language.accept_language import language_of_http_request
from opencrab.gateways.rest.page.page_content import LANGUAGES, SECURITY_HEADERS
from tests.conftest import ROOT
from tests.template.stacks import Resource, Stacks, Templates, evaluated
from tests.template.tools import is_installed, transform

NODE = shutil.which("node")
ALL = {"WebDashboard": "on", "WebSocket": "on"}
NAMED = {
    "ContentSecurityPolicy": "Content-Security-Policy",
    "FrameOptions": "X-Frame-Options",
    "ReferrerPolicy": "Referrer-Policy",
}
VALUES = {"FrameOptions": "FrameOption"}


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """The real templates after the transform."""
    if not is_installed():
        pytest.skip("no .venv-template: `make validate` installs it")
    return transform(ROOT, tmp_path_factory.mktemp("template"))


def distribution(stacks: Stacks) -> dict[str, Any]:
    """What the one distribution is told."""
    (found,) = stacks.of("AWS::CloudFront::Distribution")
    config: dict[str, Any] = found.at("DistributionConfig")
    return config


def behaviors(stacks: Stacks) -> dict[str, dict[str, Any]]:
    """What happens to requests, by their paths."""
    config = distribution(stacks)
    return {
        each.get("PathPattern", "*"): each
        for each in [*config["CacheBehaviors"], config["DefaultCacheBehavior"]]
    }


def test_off_makes_nothing_and_is_the_default(templates: Templates) -> None:
    default = evaluated(templates, ROOT, {})
    off = evaluated(templates, ROOT, {"WebDashboard": "off"})
    on = evaluated(templates, ROOT, {"WebDashboard": "on"})
    assert [each.address for each in default.resources] == [each.address for each in off.resources]
    more = {each.address for each in on.resources} - {each.address for each in default.resources}
    assert more == {
        *("template.Page", "page.PageBucket", "page.PageBucketPolicy", "page.OriginAccess"),
        *("page.PageAddress", "page.PageHeaders", "page.Distribution"),
    }
    same = {each.address: each for each in default.resources}
    assert {each.address for each in on.resources if same.get(each.address) != each} == more


def test_it_sends_the_headers_that_the_local_server_sends(templates: Templates) -> None:
    stacks = evaluated(templates, ROOT, ALL)
    (policy,) = stacks.of("AWS::CloudFront::ResponseHeadersPolicy")
    config = policy.at("ResponseHeadersPolicyConfig")
    security = dict(config["SecurityHeadersConfig"])
    assert security.pop("ContentTypeOptions") == {"Override": True}
    sent = {"X-Content-Type-Options": "nosniff"}
    sent |= {NAMED[name]: each[VALUES.get(name, name)] for name, each in security.items()}
    sent |= {each["Header"]: each["Value"] for each in config["CustomHeadersConfig"]["Items"]}
    assert sent == SECURITY_HEADERS
    every = [*security.values(), *config["CustomHeadersConfig"]["Items"]]
    assert all(each["Override"] for each in every)


def test_each_path_goes_where_it_belongs(templates: Templates) -> None:
    stacks = evaluated(templates, ROOT, ALL)
    found = {path: each["TargetOriginId"] for path, each in behaviors(stacks).items()}
    assert found == {
        "/api/*": "api",
        "/approve": "api",
        "/page/*": "page",
        "/ws": "live",
        "*": "page",
    }
    assert "/ws" not in behaviors(evaluated(templates, ROOT, {"WebDashboard": "on"}))


def test_a_name_of_ones_own_has_tls_1_2(templates: Templates) -> None:
    mine = {
        **ALL,
        "WebDashboardDomain": "crab.example.org",
        "WebDashboardCertificate": "arn:aws:acm:us-east-1:123456789012:certificate/a",
    }
    config = distribution(evaluated(templates, ROOT, mine))
    assert config["Aliases"] == ["crab.example.org"]
    assert config["ViewerCertificate"]["MinimumProtocolVersion"] == "TLSv1.2_2021"
    usual = distribution(evaluated(templates, ROOT, ALL))
    assert "Aliases" not in usual
    assert usual["ViewerCertificate"] == {"CloudFrontDefaultCertificate": True}


@pytest.mark.parametrize(
    ("chosen", "origins"),
    [
        ({}, ""),
        ({"WebDashboardDomain": "crab.example.org"}, ",https://crab.example.org"),
        ({"WebDashboard": "off", "WebSocketOrigins": "https://a.example"}, "https://a.example"),
    ],
)
def test_the_page_may_connect_to_the_websocket_of_its_own_name(
    templates: Templates, chosen: dict[str, str], origins: str
) -> None:
    stacks = evaluated(templates, ROOT, {**ALL, **chosen})
    (function,) = (
        each
        for each in stacks.of("AWS::Lambda::Function")
        if each.name == "WebsocketGatewayFunction"
    )
    told = function.at("Environment", "Variables", "OPENCRAB_GATEWAY__WEBSOCKET__ORIGINS")
    assert told == (origins or ",https://${page.Distribution.DomainName}")


def function_of(stacks: Stacks, path: str) -> Resource:
    """The function that sees the requests for a path."""
    (association,) = behaviors(stacks)[path]["FunctionAssociations"]
    assert association["EventType"] == "viewer-request"
    found = stacks.find(association["FunctionARN"])
    assert found is not None
    return found


def uris(function: Resource, requests: list[dict[str, Any]]) -> list[str]:
    """The paths that a function makes of requests."""
    if NODE is None:
        pytest.skip("no Node here to run the function")
    code = function.at("FunctionCode")
    events = json.dumps([{"request": request} for request in requests])
    script = f"{code}\nconsole.log(JSON.stringify({events}.map((each) => handler(each).uri)))"
    run = subprocess.run(
        [NODE, "-e", script], capture_output=True, text=True, check=True, timeout=60
    )
    found: list[str] = json.loads(run.stdout)
    return found


HEADERS = [
    "",
    "ja",
    "en-GB,ja;q=0.5",
    "fr, JA-jp;q=0.1,en",
    "fr",
    " ja ;q=1",
    ";;,,",
    "jaa",
    "j\u00e4",
    "en;q=0.5, ja;q=0.8",
    "ja;q=0",
    "en, ja",
    "ja; Q = 0.3 , en;q=0.2",
    "ja;q=, en;q=x",
    "ja;q=0.9;x=1, ja;level=1",
    f"{'fr,' * 400}ja",
]


def test_an_address_of_the_page_gets_it_in_the_language_that_the_local_server_chooses(
    templates: Templates,
) -> None:
    function = function_of(evaluated(templates, ROOT, ALL), "*")
    requests = [{"uri": "/agents/x", "headers": {"accept-language": {"value": h}}} for h in HEADERS]
    wanted = [f"/index.{language_of_http_request(header).value}.html" for header in HEADERS]
    assert uris(function, requests) == wanted
    assert {each.split(".")[1] for each in wanted} == set(LANGUAGES)
    assert uris(function, [{"uri": "/", "headers": {}}]) == ["/index.en.html"]


def test_ws_is_the_stage_of_the_websocket_api(templates: Templates) -> None:
    stacks = evaluated(templates, ROOT, ALL)
    stages = [each.at("StageName") for each in stacks.of("AWS::ApiGatewayV2::Stage")]
    (path,) = uris(function_of(stacks, "/ws"), [{"uri": "/ws", "headers": {}}])
    assert path.removeprefix("/") in stages
