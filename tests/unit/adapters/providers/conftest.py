"""What tests of providers share: the published schema of what may be sent."""

import json
from pathlib import Path

import jsonschema
import pytest


@pytest.fixture(scope="session")
def chat_schema(wire: Path) -> jsonschema.Draft202012Validator:
    """Judges the body of a chat completion; a field that OpenAI does not know is a mistake."""
    path = wire / "specs" / "openai" / "openapi.min.json"
    spec = json.loads(path.read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(
        {
            "$ref": "#/components/schemas/CreateChatCompletionRequest",
            "unevaluatedProperties": False,
            "components": spec["components"],
        }
    )
