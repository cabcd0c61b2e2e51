"""Every rule holds on the real template, and fails on each template that breaks it."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.soak import SOAK
from tests.template.document import DOCUMENT, document
from tests.template.mutation import Mutation
from tests.template.mutations import MUTATIONS
from tests.template.rules import RULES, broken, explained
from tests.template.rules_queues import ROUNDS
from tests.template.stacks import Templates, Violation, evaluated, variants
from tests.template.tools import exceptions, is_installed, transform


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """The real templates after the transform."""
    if not is_installed():
        pytest.skip("no .venv-template: `make validate` installs it")
    return transform(ROOT, tmp_path_factory.mktemp("template"))


@pytest.fixture(scope="session")
def known(templates: Templates) -> dict[str, list[Violation]]:
    """What the rules say of the real templates."""
    return broken(templates, ROOT)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_holds_on_the_real_template(rule: Any, known: dict[str, list[Violation]]) -> None:
    assert known[rule.__name__] == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_a_mutation_breaks_exactly_its_rule(
    mutation: Mutation, templates: Templates, known: dict[str, list[Violation]]
) -> None:
    mutated = copy.deepcopy(dict(templates))
    mutation.apply(mutated)
    every = list(variants(templates))
    # As they come and with everything on, most show; the other choices take twenty times as long.
    found = broken(mutated, ROOT, every if SOAK else [every[0], every[-1]])
    if not (worse := worsened(found, known)):
        found = broken(mutated, ROOT, every)
        worse = worsened(found, known)
    assert worse == {mutation.rule.__name__}
    assert all(each.resource and each.problem and each.cure for each in found[min(worse)])


def worsened(found: dict[str, list[Violation]], known: dict[str, list[Violation]]) -> set[str]:
    """The rules that are broken as they were not before."""
    return {name for name in found if set(found[name]) - set(known[name])}


def test_every_rule_is_proven_by_a_mutation() -> None:
    assert {mutation.rule for mutation in MUTATIONS} == set(RULES)
    assert len({str(mutation) for mutation in MUTATIONS}) == len(MUTATIONS)


def test_every_rule_says_what_must_hold_and_why() -> None:
    for rule in RULES:
        first, reason, source = explained(rule)
        assert first.endswith("."), rule
        assert reason.endswith("."), rule
        assert not source or source.startswith("https://"), rule


def test_the_document_lists_the_rules_as_they_are() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), (
        "run `make validate ARGS=--write` to write it again"
    )


def test_what_leads_back_to_its_queue_ends_before_lambda_ends_it() -> None:
    # That no beat sends another is seen in tests/unit/gateways/aws/test_functions.py.
    assert list(ROUNDS) == ["data.BeatsQueue"]


def test_every_exception_has_its_reason() -> None:
    assert all(each.reason.endswith(".") and each.resources for each in exceptions())


def test_the_stacks_hold_what_the_rules_are_about(templates: Templates) -> None:
    found = {resource.type for resource in evaluated(templates, ROOT, {}).resources}
    assert found >= {
        *("AWS::ApiGatewayV2::Route", "AWS::ApiGatewayV2::Stage", "AWS::DynamoDB::Table"),
        *("AWS::Events::Rule", "AWS::IAM::Role", "AWS::Lambda::EventSourceMapping"),
        *("AWS::Lambda::Function", "AWS::Logs::LogGroup", "AWS::S3::Bucket", "AWS::SQS::Queue"),
    }


BOARD = {"Dashboard": "on"}


def test_the_dashboard_is_json_whatever_is_on(templates: Templates) -> None:
    shown = {}
    for name, parameters in (
        ("plain", BOARD),
        ("all", {**BOARD, "Discord": "on", "Channels": "webhook", "WebSocket": "on"}),
    ):
        stacks = evaluated(templates, ROOT, parameters)
        (dashboard,) = stacks.of("AWS::CloudWatch::Dashboard")
        widgets = json.loads(dashboard.at("DashboardBody"))["widgets"]
        shown[name] = [
            metric[3]
            for widget in widgets
            for metric in widget["properties"]["metrics"]
            if metric[2:3] in (["FunctionName"], ["QueueName"])
        ]
    extra = {name.removeprefix("opencrab-main-") for name in {*shown["all"]} - {*shown["plain"]}}
    assert extra == {
        *("discord-gateway", "discord-interactions", "channel-gateway", "websocket-gateway"),
        "${data.InteractionsDeadQueue.QueueName}",
    }


def test_a_folder_with_a_handler_needs_a_function(templates: Templates, tmp_path: Path) -> None:
    for name in ("agent_turn", "forgotten"):
        (tmp_path / "functions" / name).mkdir(parents=True)
        (tmp_path / "functions" / name / "handler.py").touch()
    (tmp_path / "config").symlink_to(ROOT / "config")
    found = {each.resource for each in broken(templates, tmp_path)["handlers_exist"]}
    assert "functions/forgotten" in found
    assert "functions/agent_turn" not in found
    assert "template.AgentTurnFunction" not in found
