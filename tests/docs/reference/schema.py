"""The JSON Schema of settings files: from the rules, the defaults, and what each setting does.

`python -m tests.docs.reference.schema` writes it to config/schema.json.
"""

import json

from opencrab.domain.configuration.json_schema import settings_json_schema
from opencrab.domain.value import Language
from tests.conftest import ROOT
from tests.docs.reference.configuration import settings
from tests.docs.reference.text import sentence, sentences

FILE = ROOT / "config" / "schema.json"


def schema() -> str:
    """The text of the file."""
    described = {name: sentence("configuration", name, Language.EN) for name in _names()}
    made = settings_json_schema(settings(), described)
    return json.dumps(made, ensure_ascii=False, indent=2) + "\n"


def _names() -> list[str]:
    return list(sentences("configuration"))


if __name__ == "__main__":
    FILE.write_text(schema(), encoding="utf-8")
