"""Rules for who may do what: roles, routes, callers, and how often."""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tests.template.permissions import Statement, all_statements, granted_to, role_of
from tests.template.stacks import Resource, Stacks, Violation, listed, number

FUNCTION = "AWS::Lambda::Function"
STAGE = "AWS::ApiGatewayV2::Stage"
ROUTE = "AWS::ApiGatewayV2::Route"
JOURNAL_KEYS = frozenset({"SESSION#*", "TURN#*"})
FORGETS = {
    "functions/rest_gateway": (
        frozenset({"TURN#*"}),
        "what an owner wants forgotten goes with the turns that told of it; no model runs there",
    ),
    "functions/discord_interactions": (
        frozenset({"TURN#*"}),
        "an owner may ask for the same on Discord; no model runs there either",
    ),
}
"""Functions that may delete some of the journal, which keys, and the reason; never its lines."""

DELETING = ("dynamodb:DeleteItem", "dynamodb:BatchWriteItem", "dynamodb:PartiQLDelete")
LIMITS = ("ThrottlingBurstLimit", "ThrottlingRateLimit")


@dataclass(frozen=True)
class Wildcard:
    """A `*` that is allowed in a resource, and why there is no way around it.

    `condition` is the key by which the statement must narrow it, if there is one.
    """

    actions: str
    resource: str
    reason: str
    condition: str = ""


WILDCARDS = (
    Wildcard(
        r"bedrock:InvokeModel(?:WithResponseStream)?",
        r"arn:[^*]+:bedrock:\*::foundation-model/\*",
        "the same model in the regions of one inference profile, which the condition names",
        "bedrock:InferenceProfileArn",
    ),
    Wildcard(
        r"bedrock:ListFoundationModels",
        r"\*",
        "the list of all models knows no resources",
    ),
    Wildcard(
        r"execute-api:ManageConnections",
        r"arn:[^*]+:\$\{websocket\.\w+\}/\w+/(?:DELETE|POST)/@connections/\*",
        "the connections of one API, each of which is named when it opens",
    ),
    Wildcard(
        r"s3:(?:Get|Put|Delete)Object(?:Version)?",
        r"(?:\$\{data\.\w+\.Arn\}|arn:[^*]+:s3:::[^*/]+)/(?:agents|blobs|search)/\*",
        "the files of all agents, whose names agents choose, and their indexes",
    ),
    Wildcard(
        r"s3:(?:Get|Put)Object",
        r"(?:\$\{data\.\w+\.Arn\}|arn:[^*]+:s3:::[^*/]+)/agents/\*/workspace/reports/\*",
        "the reports of all agents, one for each of their nights",
    ),
    Wildcard(
        r"s3:PutObject",
        r"(?:\$\{data\.\w+\.Arn\}|arn:[^*]+:s3:::[^*/]+)/agents/\*/workspace/uploads/\*",
        "the files that people send with a command, to whichever agent",
    ),
    Wildcard(
        r"s3:GetObject",
        r"\$\{page\.PageBucket\.Arn\}/\*",
        "the page's files, for its own distribution: their paths have the release's version",
    ),
    Wildcard(
        r"dynamodb:ListStreams",
        r"(?:\$\{data\.\w+\.Arn\}|arn:[^*]+:table/[^*/]+)/stream/\*",
        "Lambda looks for the stream of one table, whose label is made with it",
    ),
    Wildcard(
        r"logs:(?:CreateLogStream|PutLogEvents)",
        r".*:log-group:/aws/lambda/[^*]+:\*|\$\{\w+\.\w+\.Arn\}(?::\*)?",
        "the streams of one group, which Lambda names",
    ),
    Wildcard(
        r"ssm:GetParameters(?:ByPath)?|ssm:(?:Get|Put)Parameter",
        r"arn:[^*]+:parameter/opencrab/[^*]+/\*",
        "the secrets of one stage, which the operator names",
    ),
)

AWS_POLICIES = {
    "AWSLambdaENIManagementAccess": "a network interface has no name before it is there; the "
    "function's own code is denied all of it",
    "AWSXRayDaemonWriteAccess": "X-Ray knows no resources, and this policy allows nothing else",
}
"""Policies written by AWS that a role may take over, with the reason."""

OPEN_ROUTES = {
    "GET /api/health": "a monitor has no key, and the answer says nothing but that it came",
    "GET /": "the page where somebody types a key; it holds no data",
    "GET /page/{proxy+}": "the static files of that page",
    "GET /approve": "a person with a signed link has no key; its query is the proof",
    "POST /approve": "the answer to that page, proven by the same query",
    "POST /discord/interactions": "Discord has no key of ours; the function checks Discord's "
    "signature of the whole body before it reads a word of it",
    "POST /webhooks/{name}": "a sender has no key of ours; the function checks its signature "
    "of the whole body, or the secret that it brings",
    "POST /channels/{kind}": "the same, of a chat service",
    "$connect": "browsers send no header with it; the function asks for a key or a ticket, and "
    "refuses the connection without",
    "$default": "of the WebSocket API: only what $connect let in has a connection to send on; of "
    "the HTTP API: an address of the page, and for all else the function asks for a key",
    "$disconnect": "API Gateway itself says it, of a connection that was let in",
}
"""Routes that no authoriser guards, with the reason."""


def permissions_have_no_wildcards(stacks: Stacks) -> Iterator[Violation]:
    """No statement allows `*` as action or resource, and no role has an AWS managed policy.

    A function that is misled by text from an agent can do what its role allows, and no more.
    Resources that must end in `*` (files below a prefix, log streams, secrets below a path)
    are listed with a reason.
    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/best-practices.html
    """
    for statement in all_statements(stacks):
        if statement.allows:
            yield from (
                Violation(statement.holder.address, problem, cure)
                for problem, cure in _too_wide(statement)
            )
    for role in stacks.of("AWS::IAM::Role"):
        for policy in role.items("ManagedPolicyArns"):
            name = str(policy).rpartition("/")[2]
            if stacks.find(policy) is None and name not in AWS_POLICIES:
                yield Violation(
                    role.address,
                    f"takes over {name!r}, which allows '*'",
                    "write down the statements that are needed",
                )


def functions_share_no_role(stacks: Stacks) -> Iterator[Violation]:
    """Every function has its own role.

    A shared role gives each function the permissions of the others.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/lambda-intro-execution-role.html
    """
    owners: dict[str, Resource] = {}
    for function in stacks.of(FUNCTION):
        role = role_of(stacks, function)
        if role is None:
            yield Violation(function.address, "has no role in the template", "an AWS::IAM::Role")
            continue
        other = owners.setdefault(role.address, function)
        if other != function:
            yield Violation(
                function.address,
                f"shares role {role.address!r} with {other.address!r}",
                "a role for each",
            )


def the_journal_cannot_be_deleted(stacks: Stacks) -> Iterator[Violation]:
    """No function may delete the journal; the agent_turn function has an explicit deny.

    Everything is recovered from the journal. The one function with which owners erase data is
    listed with what it may delete: turns, never lines. The condition is ForAnyValue, because a
    deny with ForAllValues would allow a request that names another key beside a journal key.
    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_multi-value-conditions.html
    """
    for function in stacks.of(FUNCTION):
        role = role_of(stacks, function)
        if role is None:
            continue
        statements = granted_to(stacks, role)
        denials = [each for each in statements if _guards_the_journal(each)]
        kept = JOURNAL_KEYS - FORGETS.get(_folder(function), (frozenset[str](), ""))[0]
        grants = [each for each in statements if each.allows and not _spares(each, kept)]
        for action in DELETING:
            granted = any(each.covers(action) for each in grants)
            must_deny = granted or (action == DELETING[0] and _runs_turns(function))
            if must_deny and not any(each.covers(action) for each in denials):
                yield Violation(
                    role.address,
                    f"{action} is not denied on {', '.join(sorted(JOURNAL_KEYS))}",
                    "Effect: Deny, ForAnyValue:StringLike: dynamodb:LeadingKeys",
                )


def routes_have_authorizers(stacks: Stacks) -> Iterator[Violation]:
    """Every route has an authorizer, or is listed as open with a reason; no function has a URL.

    A route without an authorizer lets strangers in, and each of their requests costs money.
    Source: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-access-control.html
    """
    for route in stacks.of("AWS::ApiGatewayV2::Route"):
        kind = route.at("AuthorizationType")
        guarded = kind == "AWS_IAM" or (
            kind in {"CUSTOM", "JWT"} and stacks.find(route.at("AuthorizerId")) is not None
        )
        if not guarded and route.at("RouteKey") not in OPEN_ROUTES:
            yield Violation(
                route.address,
                f"anybody may call {route.at('RouteKey')!r}",
                "AuthorizationType and AuthorizerId, or a line with a reason in OPEN_ROUTES",
            )
    for url in stacks.of("AWS::Lambda::Url"):
        yield Violation(url.address, "goes around the HTTP API", "drop FunctionUrlConfig")


def stages_are_throttled(stacks: Stacks) -> Iterator[Violation]:
    """Every stage of the APIs has throttling limits, and no route overrides them.

    Otherwise the limit is the account's, ten thousand requests per second, and the cost has no
    limit. The `$default` of the HTTP API, which takes whatever strangers try, has lower ones.
    Source: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-throttling.html
    """
    for stage in stacks.of(STAGE):
        routes = stage.at("RouteSettings") or {}
        for name, settings in {"": stage.at("DefaultRouteSettings") or {}, **routes}.items():
            missing = [limit for limit in LIMITS if number(settings.get(limit)) < 1]
            if missing:
                yield Violation(
                    stage.address,
                    f"has no {' and no '.join(missing)}{f' on {name!r}' if name else ''}",
                    f"DefaultRouteSettings: {', '.join(LIMITS)}",
                )
        if _takes_all_paths(stacks, stage) and not _is_lower(
            routes.get("$default") or {}, stage.at("DefaultRouteSettings") or {}
        ):
            yield Violation(
                stage.address,
                "anybody may call $default as often as routes with a key",
                f"RouteSettings of $default: lower {', '.join(LIMITS)}",
            )


def _takes_all_paths(stacks: Stacks, stage: Resource) -> bool:
    """Whether an HTTP API has a route for all that no other route takes."""
    api = stacks.find(stage.at("ApiId"))
    if api is None or api.at("ProtocolType") != "HTTP":
        return False
    routes = (each for each in stacks.of(ROUTE) if each.at("RouteKey") == "$default")
    return any(stacks.find(each.at("ApiId")) == api for each in routes)


def _is_lower(settings: dict[str, object], others: dict[str, object]) -> bool:
    return all(0 < number(settings.get(each)) < number(others.get(each)) for each in LIMITS)


def permissions_name_callers(stacks: Stacks) -> Iterator[Violation]:
    """A permission to invoke a function names the service and the resource of the caller.

    A permission for a whole service lets anybody's API or schedule, in any account, invoke the
    function.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/permissions-function-services.html
    """
    for permission in stacks.of("AWS::Lambda::Permission"):
        caller = permission.at("SourceArn")
        if permission.at("Principal") == "*" or not stacks.mentioned(caller):
            yield Violation(
                permission.address,
                f"lets any resource of {permission.at('Principal')!r} call a function",
                "SourceArn: the API or the schedule",
            )


def _too_wide(statement: Statement) -> Iterator[tuple[str, str]]:
    """What a statement allows without saying it, and the cure."""
    for name in ("NotAction", "NotPrincipal", "NotResource"):
        if name in statement.raw:
            yield f"allows by {name}", "say what is allowed"
    if statement.raw.get("Principal") in ("*", {"AWS": "*"}):
        yield "allows everybody", "Principal: the one who needs it"
    for action in statement.actions:
        if "*" in action or "?" in action:
            yield f"allows {action!r}", "name each action"
    for resource in statement.resources:
        if ("*" in resource or "?" in resource) and not _is_needed(statement, resource):
            yield (
                f"allows {', '.join(statement.actions)} on {resource!r}",
                "name the resource, or list the wildcard with its reason in WILDCARDS",
            )


def _is_needed(statement: Statement, resource: str) -> bool:
    return any(
        re.fullmatch(wildcard.resource, resource)
        and all(re.fullmatch(wildcard.actions, action) for action in statement.actions)
        and wildcard.condition in {"", *statement.condition.get("StringEquals", {})}
        for wildcard in WILDCARDS
    )


def _runs_turns(function: Resource) -> bool:
    return _folder(function).endswith("agent_turn")


def _folder(function: Resource) -> str:
    return str(function.at("Code", "S3Key")).rstrip("/")


def _guards_the_journal(statement: Statement) -> bool:
    """Whether a statement denies on every journal key, or on all keys."""
    if statement.allows or not any(_is_table(each) for each in statement.resources):
        return False
    keys = statement.condition.get("ForAnyValue:StringLike", {}).get("dynamodb:LeadingKeys", [])
    return not statement.condition or (len(statement.condition) == 1 and set(keys) >= JOURNAL_KEYS)


def _is_table(resource: str) -> bool:
    """Whether a statement's resource is the table: the stack's own, or one that is named."""
    return resource == "*" or bool(
        re.fullmatch(r"\$\{data\.\w+\.Arn\}|arn:[^*]+:table/[^*/]+", resource)
    )


def _spares(statement: Statement, kept: AbstractSet[str]) -> bool:
    """Whether a statement allows on some keys only, none of which is to be kept."""
    keys = [
        key
        for operator in ("ForAllValues:StringEquals", "ForAllValues:StringLike")
        for key in listed(statement.condition.get(operator, {}).get("dynamodb:LeadingKeys"))
    ]
    starts = tuple(key.rstrip("*") for key in kept)
    return bool(keys) and not any(key[:1] in "*?" or key.startswith(starts) for key in keys)
