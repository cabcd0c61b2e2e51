"""Telemetry from the settings, loaded where an endpoint is configured: turns are told to it."""

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from opencrab.bootstrap.configuration.stored_secrets import load_settings_with_secrets
from opencrab.domain.errors import Invalid
from opencrab.engine.consequence import TurnTrait

if TYPE_CHECKING:
    from collections.abc import Callable

    from opencrab.engine.consequence import Consequences, TurnConsequence
    from opencrab.engine.runtime import Runtime
    from opencrab.ports.access.secrets import Secrets
    from opencrab.settings import Settings

_SECTION = "telemetry.otlp"
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\t -~]*")


def consequences_with_telemetry(
    consequences: "Consequences[Runtime, Any]",
    configured: "Settings",
    load: "Callable[..., Settings]",
    secrets: "Secrets",
    *,
    background: bool,
) -> "Consequences[Runtime, Any]":
    """Return these consequences of turns, followed by the export of their traces.

    A variable of the headers that the environment lacks is looked up in `secrets`. `background`
    says that a thread may send traces later. Raises Invalid for headers that cannot be used; an
    endpoint that does not answer is found out, and logged, by the first turn.
    """
    configured = load_settings_with_secrets(configured, load, secrets, "telemetry")
    if missing := configured.absent.get(_SECTION):
        raise Invalid(
            f"{_SECTION}.headers needs the variable {missing}, which is not set",
            field=f"{_SECTION}.headers",
            cure=f"set {missing}, store it as a secret, or remove {_SECTION}.endpoint",
        )
    endpoint = str(configured.get(f"{_SECTION}.endpoint")).strip().rstrip("/")
    if not endpoint.startswith(("http://", "https://")):
        raise Invalid(
            f"{_SECTION}.endpoint must begin with http:// or https://",
            field=f"{_SECTION}.endpoint",
            cure="write it as in http://localhost:4318, or unset OTEL_EXPORTER_OTLP_ENDPOINT",
        )
    headers = _headers(str(configured.get(f"{_SECTION}.headers")))
    content = bool(configured.get(f"{_SECTION}.content"))
    metrics = bool(configured.get(f"{_SECTION}.metrics"))

    def made() -> "TurnConsequence[Any, Any]":
        from opencrab.adapters.telemetry.otlp import OtlpTraces
        from opencrab.engine.telemetry.after_turn import TelemetryConsequence

        traces = OtlpTraces(endpoint, headers, background=background, metrics=metrics)
        return TelemetryConsequence(traces, content=content)

    return consequences.followed_by(made, {TurnTrait.ANY})


def _headers(written: str) -> dict[str, str]:
    """Return headers of OpenTelemetry's form: `name=value,name=value`, values percent-encoded."""
    found = dict[str, str]()
    for pair in filter(None, (part.strip() for part in written.split(","))):
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise Invalid(
                f"{_SECTION}.headers has a part without a name and a value",
                field=f"{_SECTION}.headers",
                cure='write it as in headers = "Authorization=Basic ${OTLP_KEY}"',
            )
        found[name.strip().lower()] = unquote(value.strip()).strip()
    for name, value in found.items():
        # The client would log a value that it cannot send.
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise Invalid(
                f"{_SECTION}.headers has characters that no header may have",
                field=f"{_SECTION}.headers",
                cure="correct it, or the variable that it names: a secret is one line of ASCII",
            )
    return found
