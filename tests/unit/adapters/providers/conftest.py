"""What tests of providers share: published schemas of what may be sent, and all our actions."""

import json
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest

from opencrab.actions import GROUPS, Registry
from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.models.routing import Routing
from opencrab.domain.value import Language
from opencrab.ports.models.model import ActionSchema


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


@pytest.fixture(scope="session")
def responses_schema(wire: Path) -> jsonschema.Draft202012Validator:
    """Judges the body of a response; a field that OpenAI does not know is a mistake."""
    path = wire / "specs" / "openai" / "responses.min.json"
    spec = json.loads(path.read_text(encoding="utf-8"))
    # A message with a list of parts is a message in two of its ways, of which one may be true.
    item = spec["components"]["schemas"]["InputItem"]
    item["anyOf"] = item.pop("oneOf")
    return jsonschema.Draft202012Validator(
        {
            "$ref": "#/components/schemas/CreateResponse",
            "unevaluatedProperties": False,
            "components": spec["components"],
        }
    )


@pytest.fixture(scope="session")
def messages_schema(wire: Path) -> jsonschema.Draft202012Validator:
    """Judges bodies by Anthropic's newer version: blocks that it does not know are mistakes."""
    path = wire / "specs" / "anthropic" / "messages.schema.json"
    definitions = json.loads(path.read_text(encoding="utf-8"))["$defs"]
    for role in ("UserMessageParam", "AssistantMessageParam"):
        blocks = definitions[role]["properties"]["content"]["anyOf"][1]["items"]
        blocks["anyOf"] = [kind for kind in blocks["anyOf"] if kind["$ref"].endswith("Param")]
    for name, definition in definitions.items():
        if name.endswith("Param") and "properties" in definition:
            definition["additionalProperties"] = False
    return jsonschema.Draft202012Validator(
        {
            "$ref": "#/$defs/MessageCreateParamsStreaming",
            "unevaluatedProperties": False,
            "$defs": definitions,
        }
    )


@pytest.fixture(scope="session", params=list(Language))
def our_actions(request: pytest.FixtureRequest) -> tuple[ActionSchema, ...]:
    """Every action that there is, as a model is told of it: none is left out for any reason."""
    born = datetime(2026, 3, 1, tzinfo=UTC)
    agent = Agent(
        id="a1",
        name="蟹",
        language=request.param,
        world="kingdom",
        created_at=born,
        updated_at=born,
    )
    routing = Routing(
        default="scripted:echo", aliases={"fast": "scripted:echo"}, selectable=("fast",)
    )
    schemas = Registry(GROUPS).schemas(agent, routing, Authority.OWNER, AgentState())
    assert len(schemas) == sum(len(group.actions) for group in GROUPS)
    for schema in schemas:
        jsonschema.Draft202012Validator.check_schema(schema.parameters)
    return schemas
