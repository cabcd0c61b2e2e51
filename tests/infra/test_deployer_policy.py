"""The policy for whoever deploys: it names what the templates make, and nothing of others."""

import json
from typing import Any

from tests.conftest import ROOT
from tests.docs.reference.cloudformation import stacks

POLICY = ROOT / "infra" / "deployer-policy.json"
LARGEST = 6_144
"""Characters of a managed policy, without white space."""

EVERYTHING = {"Look", "AccessLog"}
"""Statements for any resource: their actions take no other."""

NOT_COVERED = {"AWS::EC2", "AWS::EFS", "AWS::OpenSearchServerless"}
"""SearchBackend=efs and opensearch; docs/how-to/deploy-to-aws.md names what they need."""

PREFIXES = {
    "ApiGatewayV2": "apigateway",
    "Logs": "logs",
    "Serverless": "lambda",
}


def statements() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(POLICY.read_text(encoding="utf-8"))["Statement"]
    return found


def test_every_service_of_the_templates_may_be_used() -> None:
    types = {
        resource["Type"].rpartition("::")[0]
        for stack in stacks().values()
        for resource in stack["Resources"].values()
    }
    assert len(types) > 10
    allowed = {action.partition(":")[0] for each in statements() for action in each["Action"]}
    needed = {each.removeprefix("AWS::") for each in types - NOT_COVERED}
    assert {PREFIXES.get(each, each.lower()) for each in needed} <= allowed


def test_nothing_of_others_may_be_changed() -> None:
    for each in statements():
        resources = [each["Resource"]] if isinstance(each["Resource"], str) else each["Resource"]
        if each["Sid"] in EVERYTHING:
            verbs = {action.partition(":")[2] for action in each["Action"]}
            assert not {verb for verb in verbs if verb.startswith(("Delete", "Put"))} - {
                "DeleteLogDelivery",
                "PutResourcePolicy",
            }
            continue
        assert "*" not in resources
        assert "*" not in each["Action"]
    passed = [each for each in statements() if "iam:PassRole" in each["Action"]]
    assert [each["Condition"] for each in passed] == [
        {"StringEquals": {"iam:PassedToService": "lambda.amazonaws.com"}}
    ]


def test_it_fits_into_a_managed_policy() -> None:
    assert len(json.dumps(json.loads(POLICY.read_text()), separators=(",", ":"))) <= LARGEST
