"""Signing in by a link: who gets a code, who may send it, and what is left of it."""

import logging

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.engine.access.sign_in_codes import SignInCodes
from opencrab.gateways.rest.access.sign_in import offer_access_sign_in
from tests.cases import for_each
from tests.integration.rest.house import House, problem

OWN = {"Authorization": "", "Origin": "http://house"}


@pytest.fixture
def linked(house: House) -> House:
    """An installation on the owner's computer, which has links."""
    offer_access_sign_in(house.app, SignInCodes(house.runtime.clock))
    return house


def test_a_link_gives_the_key_with_which_it_was_made(linked: House) -> None:
    second, _ = linked.key(Scope.OWNER)
    for key in (linked.owner, second):
        code = linked.made("/sign-in/codes", None, key=key)["code"]
        answer = linked.call("POST", "/sign-in", {"code": code}, headers=OWN)
        assert answer.json() == {"key": key}
        assert answer.headers["cache-control"] == "no-store"
        again = problem(linked.call("POST", "/sign-in", {"code": code}, headers=OWN), 401)
        assert "opencrab open" in again["cure"]


@for_each(
    "origin", ["", "null", "http://evil.example", "http://house.evil.example", "house", "//["]
)
def test_only_the_page_of_this_server_may_send_a_code(linked: House, origin: str) -> None:
    code = linked.made("/sign-in/codes", None)["code"]
    headers = {**OWN, "Origin": origin}
    problem(linked.call("POST", "/sign-in", {"code": code}, headers=headers), 403, "Origin")
    assert linked.call("POST", "/sign-in", {"code": code}, headers=OWN).status_code == 200


def test_behind_a_proxy_with_tls_the_name_counts(linked: House) -> None:
    code = linked.made("/sign-in/codes", None)["code"]
    headers = {**OWN, "Origin": "https://Crab.example:8443", "Host": "crab.example:8443"}
    assert linked.call("POST", "/sign-in", {"code": code}, headers=headers).status_code == 200


@for_each("body", [{}, {"code": ""}, {"code": "x" * 201}, {"code": 1}, {"code": "x", "more": 1}])
def test_what_is_no_code_is_refused_before_it_is_compared(linked: House, body: object) -> None:
    problem(linked.call("POST", "/sign-in", body, headers=OWN), 422)


def test_where_there_are_no_links_the_answer_says_how_to_sign_in(house: House) -> None:
    for path, headers in (("/sign-in", OWN), ("/sign-in/codes", {})):
        found = problem(house.call("POST", path, {"code": "x"}, headers=headers), 404)
        assert "API key" in found["cure"]


def test_a_repeated_request_shows_no_code_and_nothing_of_it_is_stored(
    linked: House, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    headers = {"Idempotency-Key": "same"}
    made = linked.made("/sign-in/codes", None, headers=headers)
    again = linked.made("/sign-in/codes", None, headers=headers)
    assert again == {**made, "code": None}
    linked.call("POST", "/sign-in", {"code": made["code"]}, headers=OWN)
    stored = b"".join(path.read_bytes() for path in linked.folder.rglob("*") if path.is_file())
    assert made["code"].encode() not in stored
    assert made["code"] not in caplog.text
