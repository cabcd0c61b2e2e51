"""Changes that break the rules for access and data."""

from tests.template import rules_access, rules_data
from tests.template.mutation import GONE, Mutation, extended_by, statement

ACCESS = (
    Mutation(
        rules_access.permissions_have_no_wildcards,
        "an action is a wildcard",
        statement("RestGatewayRole", "sqs:SendMessage") + "/Action",
        "sqs:*",
    ),
    Mutation(
        rules_access.permissions_have_no_wildcards,
        "a resource is a wildcard",
        statement("RestGatewayRole", "sqs:SendMessage") + "/Resource",
        "*",
    ),
    Mutation(
        rules_access.permissions_have_no_wildcards,
        "a resource ends in a wildcard that is not listed",
        statement("RestGatewayRole", "dynamodb:Query") + "/Resource",
        extended_by({"Fn::Sub": "${Data.Outputs.TableArn}/index/*"}),
    ),
    Mutation(
        rules_access.permissions_have_no_wildcards,
        "a statement allows all but something",
        statement("RestGatewayRole", "sqs:SendMessage"),
        lambda old: {**old, "NotAction": old["Action"]},
    ),
    Mutation(
        rules_access.permissions_have_no_wildcards,
        "websocket_gateway may send to connections of every API",
        statement("WebsocketGatewayRole", "execute-api:ManageConnections") + "/Resource",
        {"Fn::Sub": "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:*"},
    ),
    Mutation(
        rules_access.permissions_have_no_wildcards,
        "agents may use every model of Bedrock",
        "template/BedrockAccess/Properties/PolicyDocument/Statement/1/Fn::If/1/Condition",
        GONE,
    ),
    Mutation(
        rules_access.permissions_have_no_wildcards,
        "a role has an AWS managed policy",
        "template/AgentTurnRole/Properties/ManagedPolicyArns",
        ["arn:aws:iam::aws:policy/AmazonSQSFullAccess"],
    ),
    Mutation(
        rules_access.permissions_have_no_wildcards,
        "a queue allows everybody to send",
        "data/BackgroundDeadQueuePolicy/Properties/PolicyDocument/Statement/0/Principal",
        "*",
    ),
    Mutation(
        rules_access.functions_share_no_role,
        "a function has another one's role",
        "template/HeartbeatFunction/Properties/Role",
        {"Fn::GetAtt": ["DeliveryRole", "Arn"]},
    ),
    Mutation(
        rules_access.the_journal_cannot_be_deleted,
        "the deny is missing",
        statement("AgentTurnRole", "Deny"),
        GONE,
    ),
    Mutation(
        rules_access.the_journal_cannot_be_deleted,
        "the deny applies only if all keys of a request are the journal's",
        statement("AgentTurnRole", "Deny") + "/Condition",
        lambda old: {"ForAllValues:StringLike": old["ForAnyValue:StringLike"]},
    ),
    Mutation(
        rules_access.the_journal_cannot_be_deleted,
        "the heartbeat may delete more than due items",
        statement("HeartbeatRole", "dynamodb:DeleteItem") + "/Condition",
        GONE,
    ),
    Mutation(
        rules_access.the_journal_cannot_be_deleted,
        "rest_gateway may delete lines",
        statement("RestGatewayRole", "dynamodb:DeleteItem") + "/Condition",
        {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["SESSION#*"]}},
    ),
    Mutation(
        rules_access.the_journal_cannot_be_deleted,
        "discord_interactions may delete lines",
        statement("DiscordInteractionsRole", "dynamodb:DeleteItem") + "/Condition",
        {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["SESSION#*"]}},
    ),
    Mutation(
        rules_access.routes_have_authorizers,
        "the route for Discord matches any path below it",
        "template/DiscordRoute/Properties/RouteKey",
        "POST /discord/{proxy+}",
    ),
    Mutation(
        rules_access.routes_have_authorizers,
        "a route has no authorizer",
        "template/ApiRoute/Properties/AuthorizationType",
        "NONE",
    ),
    Mutation(
        rules_access.routes_have_authorizers,
        "a function has a URL",
        "template/GatewayUrl",
        {"Type": "AWS::Lambda::Url", "Properties": {"AuthType": "NONE"}},
    ),
    Mutation(
        rules_access.stages_are_throttled,
        "the stage has no throttling limits",
        "template/HttpStage/Properties/DefaultRouteSettings",
        GONE,
    ),
    Mutation(
        rules_access.stages_are_throttled,
        "a route overrides them",
        "template/HttpStage/Properties/RouteSettings",
        {"GET /api/health": {"DetailedMetricsEnabled": True}},
    ),
    Mutation(
        rules_access.stages_are_throttled,
        "$default has the limits of routes with a key",
        "template/HttpStage/Properties/RouteSettings",
        {"GET /api/health": {"ThrottlingRateLimit": 1, "ThrottlingBurstLimit": 5}},
    ),
    Mutation(
        rules_access.stages_are_throttled,
        "the stage of the WebSocket API has no throttling limits",
        "websocket/LiveStage/Properties/DefaultRouteSettings",
        GONE,
    ),
    Mutation(
        rules_access.permissions_name_callers,
        "a permission is for every API of every account",
        "template/RestGatewayPermission/Properties/SourceArn",
        GONE,
    ),
)

DATA = (
    Mutation(
        rules_data.data_is_encrypted,
        "the table does not set encryption",
        "data/OwnTable/Properties/SSESpecification",
        GONE,
    ),
    Mutation(
        rules_data.data_is_encrypted,
        "the bucket does not set it",
        "data/OwnBucket/Properties/BucketEncryption",
        GONE,
    ),
    Mutation(
        rules_data.data_is_encrypted,
        "a queue turns it off",
        "data/TurnsDeadQueue/Properties/SqsManagedSseEnabled",
        "false",
    ),
    Mutation(
        rules_data.alarms_can_use_their_topic,
        "the topic of alarms has AWS's own key",
        "observability/AlarmMails/Properties/KmsMasterKeyId",
        "alias/aws/sns",
    ),
    Mutation(
        rules_data.data_is_retained,
        "a queue is deleted with the stack",
        "data/TurnsQueue/DeletionPolicy",
        "Delete",
    ),
    Mutation(
        rules_data.data_is_retained,
        "the table is deleted when it has to be replaced",
        "data/OwnTable/UpdateReplacePolicy",
        GONE,
    ),
    Mutation(
        rules_data.data_is_retained,
        "the table has no deletion protection",
        "data/OwnTable/Properties/DeletionProtectionEnabled",
        "false",
    ),
    Mutation(
        rules_data.the_table_can_be_restored,
        "recovery is off",
        "data/OwnTable/Properties/PointInTimeRecoverySpecification",
        GONE,
    ),
    Mutation(
        rules_data.the_table_expires_items,
        "the TTL attribute is one that the adapter does not write",
        "data/OwnTable/Properties/TimeToLiveSpecification/AttributeName",
        "expires",
    ),
    Mutation(
        rules_data.the_bucket_is_private,
        "one of the four public access blocks is off",
        "data/OwnBucket/Properties/PublicAccessBlockConfiguration/BlockPublicPolicy",
        "false",
    ),
    Mutation(
        rules_data.the_bucket_is_private,
        "TLS is required only for reading",
        "data/BucketPolicy/Properties/PolicyDocument/Statement/0/Action",
        "s3:GetObject",
    ),
    Mutation(
        rules_data.the_bucket_keeps_versions,
        "versioning is off",
        "data/OwnBucket/Properties/VersioningConfiguration/Status",
        "Suspended",
    ),
    Mutation(
        rules_data.the_bucket_keeps_versions,
        "noncurrent versions do not expire",
        "data/OwnBucket/Properties/LifecycleConfiguration/Rules",
        lambda old: [rule for rule in old if "NoncurrentVersionExpiration" not in rule],
    ),
)
