"""Values of settings as they are shown to people: without the secrets in them."""

import re
from collections.abc import Mapping

from opencrab.domain.configuration.rule import SECRET_NAME

_USER = re.compile(r"://[^?#\s]*@")
_PARAMETER = re.compile(r"([?&][^=&#\s]+=)[^&#\s]+")
_HIDDEN = "***"


def hide_secret_settings(name: str, value: object) -> object:
    """Return a setting's value, with stars in place of a secret that is set."""
    if isinstance(value, Mapping):
        return {key: hide_secret_settings(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [hide_secret_settings(name, inner) for inner in value]
    last = name.rpartition(".")[2].lower()
    # Headers that the environment gives are one text.
    if (SECRET_NAME.search(last) or last == "headers") and value:
        return _HIDDEN
    return _hide_in_addresses(value) if isinstance(value, str) else value


def _hide_in_addresses(text: str) -> str:
    """Return a text without the users, passwords and parameters of addresses in it."""
    if "://" not in text:
        return text
    return _PARAMETER.sub(rf"\1{_HIDDEN}", _USER.sub(f"://{_HIDDEN}@", text))
