"""A page that reads what the API does not have is found before anybody opens it."""

import copy
import json
from typing import Any

import pytest

from tests.page_types.compiler import MISSING, ROOT, faults
from tests.page_types.rest import declarations, route_of, type_of

pytestmark = [pytest.mark.timeout(300), pytest.mark.skipif(bool(MISSING), reason=MISSING)]

READ = {
    ("AgentView", "status"): "goals/goals.js",
    ("TaskSummary", "completion"): "goals/task.js",
    ("ScheduleView", "why_off"): "schedules/page.js",
    ("BeatsView", "totals"): "schedules/heartbeats.js",
    ("ProviderView", "has_key"): "settings/providers.js",
    ("KeyView", "revoked_at"): "settings/keys.js",
    ("StoryView", "spent_micro_usd"): "sessions/turn.js",
    ("SessionView", "speaks_freely"): "sessions/side.js",
    ("BeliefView", "confirmed"): "memory/lists.js",
    ("FoundView", "excerpt"): "memory/search.js",
    ("OpenedView", "decided_at"): "approvals/page.js",
    ("LlmAnalytics", "weeks"): "analytics/models.js",
    ("OutcomeView", "open_points"): "sessions/outcome.js",
    ("PromiseView", "done_when"): "memory/peers.js",
    ("PlannedGoalView", "event"): "standing/page.js",
    ("WorldView", "heard_at"): "worlds/page.js",
    ("ReceivedEventView", "opportunity"): "worlds/events.js",
}
"""A field of an answer, and a module that reads it."""


@pytest.fixture(scope="module")
def document() -> Any:
    return json.loads((ROOT / "infra" / "openapi.json").read_text(encoding="utf-8"))


def rename(document: Any, schema: str, field: str) -> None:
    """Give a field of a schema another name."""
    found = document["components"]["schemas"][schema]
    found["properties"][f"{field}_renamed"] = found["properties"].pop(field)
    found["required"] = [each for each in found.get("required", []) if each != field]


def test_every_module_agrees_with_the_api(document: Any) -> None:
    assert faults(document) == []


def test_a_renamed_field_is_found_in_each_page_that_reads_it(document: Any) -> None:
    changed = copy.deepcopy(document)
    for schema, field in READ:
        rename(changed, schema, field)
    found = faults(changed)
    unseen = [
        (module, field)
        for (_, field), module in READ.items()
        if not any(each.startswith(f"{module}(") and f"'{field}'" in each for each in found)
    ]
    assert unseen == []


def test_a_renamed_field_of_a_body_and_a_renamed_route_are_found(document: Any) -> None:
    changed = copy.deepcopy(document)
    rename(changed, "NewTask", "instruction")
    paths = changed["paths"]
    paths["/api/spending"] = paths.pop("/api/budgets")
    found = faults(changed)
    assert any(each.startswith("agents/panes.js(") and "'instruction'" in each for each in found)
    assert any(each.startswith("settings/budgets.js(") for each in found)


def test_a_field_that_may_be_null_is_found_where_it_is_used_as_if_it_never_were(
    document: Any,
) -> None:
    changed = copy.deepcopy(document)
    properties = changed["components"]["schemas"]["BeliefView"]["properties"]
    properties["confirmed"] = {"anyOf": [properties["confirmed"], {"type": "null"}]}
    found = faults(changed)
    assert [each.partition("(")[0] for each in found] == ["memory/lists.js"]
    assert "'each.confirmed' is possibly 'null'" in found[0]


def test_types_are_those_of_the_schemas() -> None:
    assert route_of("/api/agents/{agent_id}/goals") == "/agents/*/goals"
    number = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert type_of({"type": "array", "items": number}) == "(number | null)[]"
    assert type_of({"enum": ["a", "蟹"]}) == '("a" | "\\u87f9")'
    kinds = {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Page_X_"}}
    assert type_of(kinds) == "Record<string, Page_X_>"


def test_what_has_a_default_may_be_missing_only_in_what_is_sent() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Sent"}}}
    path = {"post": {"requestBody": {"content": content}, "responses": {"204": {}}}}
    document = {
        "components": {"schemas": {"Sent": schema, "Read": schema}},
        "paths": {"/api/x": path},
    }
    made = declarations(document)
    assert 'type Sent = { "name"?: string };' in made
    assert 'type Read = { "name": string };' in made
    assert '"/x": { body: Sent; answer: null };' in made
