"""A settings file is checked as a whole: each fault has its line, its name and a cure's key."""

import pytest

from opencrab.domain.configuration.file_check import (
    check_settings_text,
    suggest_setting_names,
)
from opencrab.settings import load_settings
from tests.conftest import ROOT

KNOWN = tuple(load_settings({}, {}).values)


def codes(text: str) -> list[tuple[int, str, str]]:
    found = check_settings_text(text, KNOWN).faults
    return [(each.line, each.name, each.problem.code) for each in found]


def test_the_defaults_are_a_sound_file_of_ones_own() -> None:
    text = (ROOT / "config" / "default.toml").read_text(encoding="utf-8")
    assert codes(text) == []


def test_all_faults_are_told_at_once_in_the_order_of_lines() -> None:
    text = '[budget]\nturn_usd = "high"\n\n[agent]\nmax_stesp = 3\n[bugdet]\na = 1\nb = 2\n'
    assert codes(text) == [
        (2, "budget.turn_usd", "type_number"),
        (5, "agent.max_stesp", "unknown_near"),
        (6, "bugdet", "section_near"),
    ]


def test_a_provider_and_an_alias_of_ones_own_are_no_fault() -> None:
    text = (
        '[llm.providers.groq]\nkind = "openai"\napi_key = "${GROQ_API_KEY}"\n'
        '[llm.aliases]\n"速" = "groq:x"\n'
    )
    checked = check_settings_text(text, KNOWN)
    assert checked.faults == ()
    assert checked.values["llm.providers.groq.kind"] == "openai"
    assert checked.lines["llm.aliases.速"] == 5


def test_no_secret_is_part_of_a_fault() -> None:
    text = '[llm.providers.x]\napi_key = "KANARI"\npassword = "KANARI"\nbase_url = "http://u:KANARI@h"\n'
    found = check_settings_text(text, KNOWN)
    assert len(found.faults) == 3
    assert "KANARI" not in f"{found!r}" + "".join(str(each.value) for each in found.faults)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("budget.sesion_usd", ("budget.session_usd",)),
        ("max_steps", ("agent.max_steps",)),
        ("gateway.port", ("gateway.rest.port",)),
        ("予算", ()),
    ],
)
def test_the_setting_that_was_perhaps_meant_is_named(name: str, near: tuple[str, ...]) -> None:
    assert suggest_setting_names(name, KNOWN) == near


@pytest.mark.parametrize(
    "text", ["budget.turn_usd = " + "9" * 5_000, "a" + ".a" * 2_000 + " = 1", "a=" + "[" * 20_000]
)
def test_what_exceeds_the_limits_of_the_parser_is_a_fault_of_the_file(text: str) -> None:
    (fault,) = check_settings_text(text, KNOWN).faults
    assert (fault.line, fault.problem.code) == (1, "syntax")
