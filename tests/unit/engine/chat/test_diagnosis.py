"""The doctor of LINE: each missing thing is named with its cure, in both languages."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from opencrab.domain.chat.people import ChatPeople
from opencrab.domain.errors import Refused, Unavailable
from opencrab.domain.value import Language
from opencrab.engine.chat.diagnosis import chat_setup_checks
from opencrab.engine.discord.diagnosis import Check, DiagnosisResult
from tests.contract.homes import HOMES
from tests.crash.outside import Reply
from tests.discord.faults import Drop
from tests.e2e.line_house import LineHouse
from tests.line.fake import SECRET


@pytest.fixture
def house(tmp_path: Path) -> Iterator[LineHouse]:
    made = LineHouse(HOMES[0], tmp_path)
    made.agent("kani", (Reply(text="やあ"),))
    yield made
    made.close()
    assert made.vendor.complaints == []


def checks(
    house: LineHouse,
    secret: Callable[[], str] = lambda: SECRET,
    language: Language = Language.EN,
) -> tuple[Check, ...]:
    chat = replace(house.runtime.chats["line"], signing_secret=secret)
    return chat_setup_checks(replace(house.runtime, chats={"line": chat}), "line", language)


def no_secret() -> str:
    raise Refused("LINE_CHANNEL_SECRET is not set")


def silent_store() -> str:
    raise Unavailable("the store does not answer")


def test_a_complete_setup_is_well_in_both_languages(house: LineHouse) -> None:
    for language in Language:
        found = checks(house, language=language)
        assert {each.state for each in found} == {DiagnosisResult.OK}
        assert [each.name for each in found] == [
            "secret",
            "token",
            "webhook",
            "quota",
            "agent",
            "owners",
        ]
    assert checks(house)[2].what == "LINE reaches https://crab.example.org/channels/line"
    assert SECRET not in str(checks(house))


def _no_owner(house: LineHouse) -> None:
    house.people = ChatPeople()
    house.begin()


def _second_agent(house: LineHouse) -> None:
    house.agent("ebi", (Reply(text="?"),))


@pytest.mark.parametrize(
    ("spoil", "name", "what", "cure"),
    [
        (lambda h: setattr(h.vendor, "token", "x"), "token", "HTTP 401", "long-lived"),
        (
            lambda h: h.vendor.faults.plan("info", Drop()),
            "token",
            "cannot connect to LINE",
            "network",
        ),
        (
            lambda h: setattr(h.vendor, "endpoint", ""),
            "webhook",
            "no webhook URL",
            "/channels/line",
        ),
        (lambda h: setattr(h.vendor, "active", False), "webhook", "switched off", "Use webhook"),
        (
            lambda h: setattr(h.vendor, "door", lambda *_: 404),
            "webhook",
            "in vain: ERROR_STATUS_CODE: 404",
            "channel secret",
        ),
        (lambda h: setattr(h.vendor, "quota", 0), "quota", "all 0 messages", "next month"),
        (_no_owner, "owners", "nobody on LINE", "Your user ID"),
        (_second_agent, "agent", "no agent answers", "gateway.line.agent"),
        (lambda h: h.name_agent("tako"), "agent", "'tako'", "opencrab agents"),
    ],
)
def test_what_is_missing_is_named_with_its_cure(
    house: LineHouse, spoil: Callable[[LineHouse], None], name: str, what: str, cure: str
) -> None:
    spoil(house)
    bad = [each for each in checks(house) if each.state is not DiagnosisResult.OK]
    assert [each.name for each in bad] == [name]
    assert (what in bad[0].what, cure in bad[0].cure) == (True, True), bad


@pytest.mark.parametrize(
    ("secret", "what"),
    [(no_secret, "is not stored"), (silent_store, "cannot read")],
)
def test_a_missing_secret_is_named_before_anything_else(
    house: LineHouse, secret: Callable[[], str], what: str
) -> None:
    first = checks(house, secret)[0]
    assert (first.name, first.state) == ("secret", DiagnosisResult.PROBLEM)
    assert what in first.what


def test_a_service_that_is_off_says_how_to_switch_it_on(house: LineHouse) -> None:
    (only,) = chat_setup_checks(replace(house.runtime, chats={}), "line", Language.JA)
    assert (only.name, only.state) == ("line", DiagnosisResult.PROBLEM)
    assert "gateway.line.enabled" in only.cure
