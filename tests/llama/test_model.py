"""The model that is made for the tests: every action of ours can be called, in both languages."""

import json
from collections.abc import Mapping

import jsonschema
import pytest

from opencrab.actions import GROUPS
from opencrab.actions.registry import CORE
from opencrab.adapters.providers.catalogue.detect import detect_servers_for_catalogue
from opencrab.adapters.providers.transport.exchange import Transport
from opencrab.adapters.skill_files import FileSkills
from opencrab.domain.autonomy.instruction_answer import INSTRUCTION_ANSWER_SCHEMA
from opencrab.domain.value import Language
from opencrab.ports.models.model import ActionSchema, ChatMessage
from tests.conftest import ROOT
from tests.llama.asking import ANTHROPIC, MODEL, OPENAI, Format, asked
from tests.llama.server import LlamaServer
from tests.soak import SOAK

pytest_plugins = ["tests.llama.fixture"]

ACTIONS = {action.name: action for group in GROUPS for action in group.actions}
_SKILLS = [skill for skill in FileSkills(ROOT / "skills").all() if skill.by_default]
DEFAULT = CORE | {name for skill in _SKILLS for name in skill.actions}
"""What an agent is offered whose owner has changed nothing."""

TRIES = 20
WORDS = {
    Language.EN: "write plan.md: walk, read, sleep",
    Language.JA: "「散歩、読書、昼寝」をplan.mdに書いて",
}
each_language = pytest.mark.parametrize("language", Language)


def _schemas(language: Language) -> Mapping[str, ActionSchema]:
    return {name: action.schema(language) for name, action in ACTIONS.items()}


def test_the_server_is_found_with_the_context_of_a_larger_model(
    large: LlamaServer, transport: Transport
) -> None:
    found = detect_servers_for_catalogue(
        transport, "http://127.0.0.1:9", f"{large.url}/v1", timeout_seconds=10.0
    ).server
    assert found is not None
    assert (found.model, found.input_tokens) == (MODEL, 32_768)


@each_language
@pytest.mark.parametrize("name", sorted(ACTIONS if SOAK else DEFAULT))
def test_each_action_is_called_with_arguments_of_its_schema(
    large: LlamaServer, transport: Transport, name: str, language: Language
) -> None:
    schema = _schemas(language)[name]
    request = asked(
        ChatMessage("user", WORDS[language], name="rin"),
        actions=(schema,),
        require_action=True,
        max_output_tokens=800,
    )
    model = OPENAI.model(large, transport)
    answers = (model.chat(request, model.encode(request)) for _ in range(TRIES))
    answer = next(each for each in answers if each.finish == OPENAI.called)
    for call in answer.calls:
        assert call.name == name
        jsonschema.validate(call.arguments, schema.parameters)


@pytest.mark.parametrize(
    ("spoken", "language"),
    [(OPENAI, Language.JA), (ANTHROPIC, Language.EN)],
    ids=lambda each: each.kind if isinstance(each, Format) else each.value,
)
def test_all_actions_at_once_are_offered_and_called(
    large: LlamaServer, transport: Transport, spoken: Format, language: Language
) -> None:
    schemas = _schemas(language)
    request = asked(
        ChatMessage("user", WORDS[language], name="rin"),
        actions=tuple(schemas.values()),
        max_output_tokens=400,
    )
    model, called = spoken.model(large, transport), set[str]()
    for _ in range(TRIES):
        answer = model.chat(request, model.encode(request))
        assert answer.usage.input_tokens > 4_000
        whole = answer.calls[:-1] if answer.finish == spoken.length else answer.calls
        for call in whole:
            jsonschema.validate(call.arguments, schemas[call.name].parameters)
        called |= {call.name for call in whole}
        if called:
            return
    pytest.fail(f"it called nothing in {TRIES} answers")


@each_language
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_an_answer_has_the_form_that_its_schema_demands(
    large: LlamaServer, transport: Transport, language: Language, *, stream: bool
) -> None:
    request = asked(
        ChatMessage("user", WORDS[language], name="rin"),
        max_output_tokens=800,
        answer_schema=INSTRUCTION_ANSWER_SCHEMA,
    )
    model = OPENAI.model(large, transport, stream=stream)
    answers = (model.chat(request, model.encode(request)) for _ in range(TRIES))
    answer = next(each for each in answers if each.finish != OPENAI.length)
    assert not answer.calls
    jsonschema.validate(json.loads(answer.text), INSTRUCTION_ANSWER_SCHEMA)
