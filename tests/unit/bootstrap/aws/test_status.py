"""What the REST function says of its settings: values, what sets them, and no secret."""

from functools import partial

from opencrab.bootstrap.aws.status import deployed_settings_in_effect
from opencrab.ports.installation.configuration import SettingOrigin
from opencrab.settings import EffectiveSetting, OwnerSettings, load_settings

ENVIRONMENT = {
    "OPENCRAB_AGENT__TIME_ZONE": "Asia/Tokyo",
    "OPENCRAB_LOG__LEVEL": "INFO",
    "OPENCRAB_BUDGET__TURN_USD": "0.3",
}


def test_each_setting_names_what_sets_it() -> None:
    own = OwnerSettings({"web.allow": EffectiveSetting(["https://a/"], "settings/config.toml:2")})
    found = {
        each.name: each
        for each in deployed_settings_in_effect(
            partial(load_settings, environment=ENVIRONMENT, own=own)
        )
    }
    said = {
        name: (found[name].value, found[name].source, found[name].origin)
        for name in ("agent.time_zone", "log.level", "budget.turn_usd", "web.allow", "owner.name")
    }
    assert said == {
        "agent.time_zone": ("Asia/Tokyo", "parameter TimeZone", SettingOrigin.PARAMETER),
        "log.level": ("INFO", "parameter LogLevel", SettingOrigin.PARAMETER),
        "budget.turn_usd": (0.3, "OPENCRAB_BUDGET__TURN_USD", SettingOrigin.ENVIRONMENT),
        "web.allow": (["https://a/"], "settings/config.toml:2", SettingOrigin.FILE),
        "owner.name": ("owner", "default.toml", SettingOrigin.DEFAULT),
    }
