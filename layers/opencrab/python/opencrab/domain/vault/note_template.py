"""Templates of notes: text with `{{name}}` in it, where values are put in as they are."""

import json
import re
from collections.abc import Mapping

from pydantic import JsonValue

_PLACEHOLDER = re.compile(r"\{\{[ \t]*([^{}\n]{1,64})\}\}")


def render_vault_note_template(template: str, variables: Mapping[str, JsonValue]) -> str:
    """Replace placeholders in a template by values; names without a value stay as they are.

    Values are not rendered again: a placeholder inside a value stays as it is.
    """

    def value(found: re.Match[str]) -> str:
        name = found[1].strip()
        return _render_value(variables[name]) if name in variables else found.group()

    return _PLACEHOLDER.sub(value, template)


def has_vault_template_placeholder(template: str, name: str) -> bool:
    """Check whether the template has a placeholder of this name."""
    return any(found.strip() == name for found in _PLACEHOLDER.findall(template))


def _render_value(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
