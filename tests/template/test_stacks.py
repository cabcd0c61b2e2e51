"""References between stacks, conditions and choices, as CloudFormation decides them."""

from pathlib import Path
from typing import Any

import pytest

from tests.template.stacks import evaluated, listed, number, variants

TEMPLATES: dict[str, dict[str, Any]] = {
    "template.yaml": {
        "Parameters": {
            "Stage": {"Type": "String", "Default": "main"},
            "Mail": {"Type": "String", "Default": ""},
            "Board": {"Type": "String", "Default": "on", "AllowedValues": ["on", "off"]},
            "Hash": {"Type": "String"},
        },
        "Conditions": {"HasBoard": {"Fn::Equals": [{"Ref": "Board"}, "on"]}},
        "Resources": {
            "Data": {
                "Type": "AWS::CloudFormation::Stack",
                "Properties": {
                    "TemplateURL": "infra/data.yaml",
                    "Parameters": {"Stage": {"Ref": "Stage"}},
                },
            },
            "Worker": {
                "Type": "AWS::Lambda::Function",
                "Properties": {
                    "Queue": {"Fn::GetAtt": ["Data", "Outputs.QueueArn"]},
                    "Named": {"Fn::Sub": "arn:aws:sqs:x:1:jobs-${Stage}"},
                    "Hash": {"Ref": "Hash"},
                    "Board": {"Fn::If": ["HasBoard", "yes", {"Ref": "AWS::NoValue"}]},
                    "Both": {"Fn::Sub": ["${Data.Outputs.QueueArn}/${x}", {"x": "y"}]},
                    "Kept": {"Fn::Sub": "${!Literal}"},
                    "Joined": {"Fn::Join": [":", ["a", {"Ref": "Stage"}]]},
                },
            },
            "Picture": {"Type": "AWS::CloudWatch::Dashboard", "Condition": "HasBoard"},
        },
    },
    "infra/data.yaml": {
        "Parameters": {"Stage": {"Type": "String"}},
        "Resources": {
            "Queue": {
                "Type": "AWS::SQS::Queue",
                "DeletionPolicy": "Retain",
                "Properties": {"QueueName": {"Fn::Sub": "jobs-${Stage}"}},
            }
        },
        "Outputs": {"QueueArn": {"Value": {"Fn::GetAtt": ["Queue", "Arn"]}}},
    },
}
ROOT = Path()


def test_an_output_leads_to_the_resource_of_the_other_stack() -> None:
    stacks = evaluated(TEMPLATES, ROOT, {})
    (worker,) = stacks.of("AWS::Lambda::Function")
    (queue,) = stacks.of("AWS::SQS::Queue")
    assert worker.at("Queue") == "${data.Queue.Arn}"
    assert stacks.find(worker.at("Queue")) == queue
    assert stacks.find(worker.at("Named")) == queue
    assert stacks.mentioned(worker.at("Both")) == [queue]
    assert queue.address == "data.Queue"
    assert queue.attributes["DeletionPolicy"] == "Retain"


def test_text_is_put_together_as_cloudformation_does() -> None:
    (worker,) = evaluated(TEMPLATES, ROOT, {}).of("AWS::Lambda::Function")
    assert worker.at("Both") == "${data.Queue.Arn}/y"
    assert worker.at("Kept") == "${Literal}"
    assert worker.at("Joined") == "a:main"
    assert worker.at("Hash") == "${parameter of template Hash}"


@pytest.mark.parametrize(("choice", "seen"), [("on", True), ("off", False)])
def test_a_condition_decides_over_resources_and_values(choice: str, *, seen: bool) -> None:
    stacks = evaluated(TEMPLATES, ROOT, {"Board": choice})
    (worker,) = stacks.of("AWS::Lambda::Function")
    assert bool(stacks.of("AWS::CloudWatch::Dashboard")) is seen
    assert ("Board" in worker.properties) is seen


def test_a_parameter_reaches_the_stack_below() -> None:
    (queue,) = evaluated(TEMPLATES, ROOT, {"Stage": "try"}).of("AWS::SQS::Queue")
    assert queue.at("QueueName") == "jobs-try"


def test_every_optional_parameter_is_tried_the_other_way() -> None:
    assert list(variants(TEMPLATES)) == [{}, {"Mail": "given"}, {"Hash": "given"}, {"Board": "off"}]


def test_every_choice_is_tried_again_with_what_is_off_by_default_on() -> None:
    chat = {"Type": "String", "Default": "off", "AllowedValues": ["on", "off"]}
    top = TEMPLATES["template.yaml"]
    board, mail = (top["Parameters"][name] for name in ("Board", "Mail"))
    parameters = {"Board": board, "Chat": chat, "Live": chat, "Mail": mail}
    on = {"Chat": "on", "Live": "on"}
    assert list(variants({"template.yaml": {**top, "Parameters": parameters}})) == [
        *({}, {"Mail": "given"}, {"Board": "off"}, {"Chat": "on"}, {"Live": "on"}),
        *(on, on | {"Board": "off"}, on | {"Chat": "off"}, on | {"Live": "off"}),
        on | {"Mail": "given"},
    ]


def test_numbers_and_lists_are_read_however_they_are_written() -> None:
    written: list[Any] = [5, "5", None, "${x}", {}]
    assert [number(each) for each in written] == [5, 5, 0, 0, 0]
    assert (listed(None), listed("a"), listed(["a"])) == ([], ["a"], ["a"])
