"""The bytes in which each vendor is told temperature, top_p, answer length and reasoning effort.

With the models and facts that ship: what a model does not accept is not in them.
"""

import json
from dataclasses import replace
from typing import Any

import pytest

from opencrab.adapters.providers.catalogue.configuration import ModelsSettings
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.domain.models.routing import CallOptions, ReasoningEffort
from opencrab.domain.turn.record import ActionCall
from opencrab.engine.models.router import sampling_of_call
from opencrab.ports.models.model import (
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatRequest,
    TrustedText,
)
from tests.unit.adapters.providers.fake import Replying
from tests.unit.test_configured_models import configured

WISHES = CallOptions(
    temperature=1.5,
    top_p=0.9,
    max_output_tokens=4_000,
    reasoning_effort=ReasoningEffort.MEDIUM,
)
HOT = CallOptions(temperature=1.5, max_output_tokens=4_000)
EFFORT = CallOptions(max_output_tokens=4_000, reasoning_effort=ReasoningEffort.MEDIUM)
ALL = {"temperature": 1.5, "top_p": 0.9}
CLAUDE = "global.anthropic.claude-sonnet-4-5-20250929-v1:0"
NOVA = "global.amazon.nova-2-lite-v1:0"
THINKS = {"type": "enabled", "budget_tokens": 2_000}

TABLE: list[tuple[str, CallOptions, dict[str, Any]]] = [
    ("openai:gpt-4o", WISHES, {"max_tokens": 4_000, **ALL}),
    (
        "openai:gpt-5.2",
        WISHES,
        {"max_completion_tokens": 4_000, "reasoning_effort": "medium"},
    ),
    (
        "openai:gpt-5.2-pro",
        EFFORT.replaced(reasoning_effort=ReasoningEffort.LOW),
        {"max_output_tokens": 4_000, "reasoning": {"effort": "medium"}},
    ),
    ("azure:gpt-5.2", EFFORT, {"max_completion_tokens": 4_000, "reasoning_effort": "medium"}),
    ("xai:grok-4.5", WISHES, {"max_tokens": 4_000, **ALL}),
    ("deepseek:deepseek-v4-flash", HOT, {"max_tokens": 4_000, "temperature": 1.5}),
    ("anthropic:claude-opus-4.6", HOT, {"max_tokens": 4_000, "temperature": 1.0}),
    (
        "anthropic:claude-opus-4.6",
        WISHES,
        {
            "max_tokens": 4_000,
            "thinking": {"type": "adaptive"},
            "output_config": {"effort": "medium"},
        },
    ),
    ("anthropic:claude-opus-4.7", HOT, {"max_tokens": 4_000}),
    (
        "anthropic:claude-sonnet-4.5",
        CallOptions(temperature=0.4, top_p=0.9, max_output_tokens=4_000),
        {"max_tokens": 4_000, "top_p": 0.9},
    ),
    ("anthropic:claude-sonnet-4.5", EFFORT, {"max_tokens": 4_000, "thinking": THINKS}),
    (
        "anthropic:claude-sonnet-4.5",
        EFFORT.replaced(max_output_tokens=1_000),
        {"max_tokens": 1_000},
    ),
    (
        "google:gemini-3-flash-preview",
        WISHES,
        {
            "generationConfig": {
                "maxOutputTokens": 4_000,
                "temperature": 1.5,
                "topP": 0.9,
                "thinkingConfig": {"thinkingLevel": "medium"},
            }
        },
    ),
    (
        "google:gemini-2.5-flash-lite",
        EFFORT,
        {
            "generationConfig": {
                "maxOutputTokens": 4_000,
                "thinkingConfig": {"thinkingBudget": 2_000},
            }
        },
    ),
    (
        f"bedrock:{NOVA}",
        EFFORT.replaced(reasoning_effort=ReasoningEffort.HIGH, temperature=1.5),
        {
            "inferenceConfig": {"maxTokens": 4_000, "temperature": 1.0},
            "additionalModelRequestFields": {
                "reasoningConfig": {"type": "enabled", "maxReasoningEffort": "medium"}
            },
        },
    ),
    (
        f"bedrock:{CLAUDE}",
        EFFORT,
        {
            "inferenceConfig": {"maxTokens": 4_000},
            "additionalModelRequestFields": {"thinking": THINKS},
        },
    ),
    (
        f"bedrock:{CLAUDE}",
        CallOptions(top_p=0.9, max_output_tokens=4_000),
        {"inferenceConfig": {"maxTokens": 4_000, "topP": 0.9}},
    ),
    (
        "openrouter:deepseek/deepseek-v3.2",
        WISHES,
        {"max_tokens": 4_000, **ALL, "reasoning": {"effort": "medium"}},
    ),
    ("ollama:llama3.1:8b", WISHES, {"options": {"num_ctx": 8_192, "num_predict": 4_000, **ALL}}),
    (
        "ollama:gpt-oss:20b",
        EFFORT,
        {"options": {"num_ctx": 8_192, "num_predict": 4_000}, "think": "medium"},
    ),
    ("llamacpp:default", WISHES, {"max_tokens": 4_000, **ALL}),
    ("vllm:gpt-oss-20b", EFFORT, {"max_tokens": 4_000, "reasoning_effort": "medium"}),
    ("lmstudio:crab", WISHES, {"max_tokens": 4_000, **ALL}),
]
WORDS = {
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "max_output_tokens",
    "reasoning_effort", "reasoning", "thinking", "output_config", "generationConfig",
    "inferenceConfig", "additionalModelRequestFields", "options", "think",
}  # fmt: skip
"""Every field of a body that says how an answer is made."""


@pytest.fixture(scope="module")
def models() -> ProviderModels:
    """What a machine with every key has; nobody is asked."""

    def settings() -> ModelsSettings:
        found = configured()
        return found.with_provider(replace(found.providers["bedrock"], api_key="k"))

    return ProviderModels(settings, Replying)


def body_of(
    models: ProviderModels, name: str, wanted: CallOptions, **changes: Any
) -> dict[str, Any]:
    """The body of a call, which the engine limits to what the model accepts."""
    model = models.get(name)
    request = ChatRequest(
        model=name.partition(":")[2],
        actions=(),
        system=TrustedText("You are a crab. あなたは蟹です。"),
        turns=(ChatMessage("user", TrustedText("こんにちは。Hello.")),),
        max_output_tokens=wanted.max_output_tokens or 2_048,
        **sampling_of_call(model.info, wanted),
    )
    body: dict[str, Any] = json.loads(model.encode(replace(request, **changes)))
    return body


@pytest.mark.parametrize(("name", "wanted", "told"), TABLE)
def test_each_vendor_is_told_in_its_own_words_what_its_model_accepts(
    models: ProviderModels, name: str, wanted: CallOptions, told: dict[str, Any]
) -> None:
    body = body_of(models, name, wanted)
    assert {word: body[word] for word in WORDS & body.keys()} == told


def test_without_wishes_no_model_is_told_how_to_sample(models: ProviderModels) -> None:
    limits = {"max_tokens", "max_completion_tokens", "max_output_tokens"}
    for name, _, told in TABLE:
        body = body_of(models, name, CallOptions())
        for word in (WORDS - limits) & body.keys():
            assert word in told
            assert set(body[word]) <= {"maxOutputTokens", "maxTokens", "num_ctx", "num_predict"}


def test_thinking_waits_while_calls_that_were_made_without_it_are_answered(
    models: ProviderModels,
) -> None:
    action = ActionSchema(name="ws_list", description="List.", parameters={"type": "object"})
    call = ActionCall(id="c1", name="ws_list", arguments={})
    asked = ChatMessage("user", TrustedText("一覧を"))
    called = ChatMessage("assistant", TrustedText(""), calls=(call,))
    turns = (asked, called, CallReturn("c1", "ws_list", TrustedText("[]")))
    wanted = {"actions": (action,), "turns": turns}
    assert "thinking" not in body_of(models, "anthropic:claude-sonnet-4.5", EFFORT, **wanted)
    again = {**wanted, "turns": (*turns, ChatMessage("assistant", TrustedText("はい")), asked)}
    body = body_of(models, "anthropic:claude-sonnet-4.5", EFFORT, **again, require_action=True)
    assert body["thinking"] == THINKS
    assert "tool_choice" not in body
