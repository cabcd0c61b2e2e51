"""What roles and resource policies say: their statements, in one shape."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from tests.template.stacks import Resource, Stacks, listed

RESOURCE_POLICIES = (
    "AWS::S3::BucketPolicy", "AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy",
)  # fmt: skip
SHARED_POLICIES = ("AWS::IAM::ManagedPolicy", "AWS::IAM::Policy", "AWS::IAM::RolePolicy")


@dataclass(frozen=True)
class Statement:
    """One statement of a policy, and the resource that holds the policy."""

    holder: Resource
    raw: dict[str, Any]

    @property
    def allows(self) -> bool:
        """Whether it grants; otherwise it denies."""
        return self.raw.get("Effect") == "Allow"

    @property
    def actions(self) -> list[str]:
        """What it is about."""
        return [str(each) for each in listed(self.raw.get("Action"))]

    @property
    def resources(self) -> list[str]:
        """On what."""
        return [str(each) for each in listed(self.raw.get("Resource"))]

    @property
    def condition(self) -> dict[str, Any]:
        """Under which conditions."""
        found = self.raw.get("Condition")
        return found if isinstance(found, dict) else {}

    def covers(self, action: str) -> bool:
        """Whether it is about an action, wildcards and upper case aside."""
        return any(fnmatchcase(action.lower(), each.lower()) for each in self.actions)


def role_of(stacks: Stacks, function: Resource) -> Resource | None:
    """The role that a function runs in."""
    return stacks.find(function.at("Role"))


def granted_to(stacks: Stacks, role: Resource) -> list[Statement]:
    """Every statement of a role: its own, and those of policies attached to it."""
    found = list(_inline(role))
    for policy in stacks.of(*SHARED_POLICIES):
        roles = [*policy.items("Roles"), policy.at("RoleName")]
        if any(stacks.find(each) == role for each in roles):
            found += _of_document(policy, policy.at("PolicyDocument"))
    return found


def all_statements(stacks: Stacks) -> Iterator[Statement]:
    """Every statement of every policy, of roles and of resources."""
    for role in stacks.of("AWS::IAM::Role"):
        yield from _inline(role)
    for policy in stacks.of(*SHARED_POLICIES, *RESOURCE_POLICIES):
        yield from _of_document(policy, policy.at("PolicyDocument"))


def policies_on(stacks: Stacks, resource: Resource) -> list[Statement]:
    """Every statement of the policies that a queue, topic or bucket carries itself."""
    return [
        statement
        for policy in stacks.of(*RESOURCE_POLICIES)
        for target in (*policy.items("Queues"), *policy.items("Topics"), policy.at("Bucket"))
        if stacks.find(target) == resource
        for statement in _of_document(policy, policy.at("PolicyDocument"))
    ]


def _inline(role: Resource) -> Iterator[Statement]:
    for policy in role.items("Policies"):
        yield from _of_document(role, policy.get("PolicyDocument"))


def _of_document(holder: Resource, document: object) -> Iterator[Statement]:
    if isinstance(document, dict):
        yield from (Statement(holder, each) for each in listed(document.get("Statement")))
