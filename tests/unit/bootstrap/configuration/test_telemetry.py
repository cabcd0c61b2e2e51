"""Telemetry from the settings: off without an endpoint, with its headers from secrets."""

from typing import Any

import pytest

from opencrab.bootstrap.consequences import CONSEQUENCES, configured_consequences
from opencrab.domain.errors import Invalid
from opencrab.engine.consequence import TurnTrait
from opencrab.settings import EffectiveSetting, OwnerSettings, Settings, load_settings

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318/"}


class Stored:
    """Secrets, and who asked for which."""

    def __init__(self, **values: str) -> None:
        self.values, self.asked = values, list[str]()

    def get(self, name: str) -> str | None:
        self.asked.append(name)
        return self.values.get(name)


def made(environ: dict[str, str], headers: str = "", **secrets: str) -> tuple[Any, Stored]:
    """What settings with these headers make, and the store of secrets."""
    stored = Stored(**secrets)
    own = OwnerSettings({"telemetry.otlp.headers": EffectiveSetting(headers, "config.toml")})

    def load(overrides: dict[str, Any], *, secret: Any = None) -> Settings:
        return load_settings(overrides, environ, own=own, secret=secret)

    given: Any = stored
    return configured_consequences(load({}), load, given, background=True), stored


def exporter(consequences: Any) -> Any:
    last = consequences[frozenset({TurnTrait.ANY})].after_close[-1].__self__
    return last._traces


def test_without_an_endpoint_nothing_is_exported_and_no_secret_is_read() -> None:
    consequences, stored = made({})
    assert consequences is CONSEQUENCES
    assert stored.asked == []


def test_the_usual_variable_turns_it_on() -> None:
    consequences, _ = made(ENDPOINT)
    assert exporter(consequences).endpoint == "http://localhost:4318"
    assert exporter(consequences).headers == {}
    others = consequences[frozenset({TurnTrait.ANY})].after_close[:-1]
    assert len(others) == len(CONSEQUENCES[frozenset({TurnTrait.ANY})].after_close)


def test_headers_may_name_a_stored_secret() -> None:
    headers = "Authorization=Basic%20${OTLP_KEY}, x-scope = a"
    consequences, stored = made(ENDPOINT, headers, OTLP_KEY="a2V5")
    assert exporter(consequences).headers == {"authorization": "Basic a2V5", "x-scope": "a"}
    assert {*stored.asked} == {"OTLP_KEY"}


@pytest.mark.parametrize("headers", ["Authorization", "=x", "a=b,c"])
def test_headers_of_another_form_are_told_without_their_values(headers: str) -> None:
    with pytest.raises(Invalid, match="a part without a name and a value") as caught:
        made(ENDPOINT, headers)
    assert caught.value.field == "telemetry.otlp.headers"


@pytest.mark.parametrize("secret", ["geheim\n鍵", "秘密", "a%0D%0Ab"])
def test_a_secret_that_no_header_can_carry_is_refused_and_not_told(secret: str) -> None:
    with pytest.raises(Invalid, match="characters that no header may have") as caught:
        made(ENDPOINT, "authorization=${OTLP_KEY}", OTLP_KEY=secret)
    assert secret not in str(caught.value)


def test_an_endpoint_without_its_scheme_is_told() -> None:
    with pytest.raises(Invalid, match="must begin with http:// or https://") as caught:
        made({"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318"})
    assert caught.value.field == "telemetry.otlp.endpoint"


def test_a_missing_variable_is_named() -> None:
    with pytest.raises(Invalid, match="needs the variable OTLP_KEY") as caught:
        made(ENDPOINT, "authorization=${OTLP_KEY}")
    assert "OTLP_KEY" in str(caught.value.cure)
