"""The settings in effect: every one with its value and with what sets it, without any secret."""

from typing import Any

from fastapi import Request
from pydantic import Field

from opencrab.domain.configuration.hidden_value import hide_secret_settings
from opencrab.domain.errors import NotFound
from opencrab.domain.value import Value
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.ports.installation.configuration import SettingOrigin

router = http_routes_below("/api/settings", "state")


class EffectiveSettingView(Value):
    """A setting; secrets are shown as `***`.

    `from` names the file and line, the variable or the parameter that sets it.
    """

    name: str
    value: Any
    origin: SettingOrigin
    source: str = Field(serialization_alias="from")


class SettingsView(Value):
    """All settings, by name."""

    settings: tuple[EffectiveSettingView, ...]


@router.get("", operation_id="get_settings", response_model_by_alias=True)
def list_installation_settings(request: Request, _caller: Owner) -> SettingsView:
    """List the settings in effect, and what sets each of them.

    Limits, aliases and providers that were changed at run time override them; their own routes show
    those.
    """
    read = getattr(request.app.state, "settings_in_effect", None)
    if read is None:
        raise NotFound("this process does not know its settings", cure="ask the server itself")
    return SettingsView(
        settings=tuple(
            EffectiveSettingView(
                name=each.name,
                value=hide_secret_settings(each.name, each.value),
                origin=each.origin,
                source=each.source,
            )
            for each in sorted(read(), key=lambda one: str(one.name))
        )
    )
