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
        "the function of the WebSocket API may send to connections of every API",
        statement("WebsocketGatewayRole", "execute-api:ManageConnections") + "/Resource",
        {"Fn::Sub": "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:*"},
    ),
    Mutation(
        rules_access.permissions_have_no_wildcards,
        "a role takes over a policy of AWS's",
        "template/AgentTurnRole/Properties/ManagedPolicyArns",
        ["arn:aws:iam::aws:policy/AmazonSQSFullAccess"],
    ),
    Mutation(
        rules_access.permissions_have_no_wildcards,
        "a queue lets everybody write",
        "data/BackgroundDeadQueuePolicy/Properties/PolicyDocument/Statement/0/Principal",
        "*",
    ),
    Mutation(
        rules_access.functions_share_no_role,
        "a function runs in another one's role",
        "template/HeartbeatFunction/Properties/Role",
        {"Fn::GetAtt": ["DeliveryRole", "Arn"]},
    ),
    Mutation(
        rules_access.the_journal_cannot_be_deleted,
        "the denial is gone",
        statement("AgentTurnRole", "Deny"),
        GONE,
    ),
    Mutation(
        rules_access.the_journal_cannot_be_deleted,
        "the denial wants all keys of a request to be the journal's",
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
        rules_access.routes_ask_who_is_there,
        "the route for Discord is for any path below it",
        "template/DiscordRoute/Properties/RouteKey",
        "POST /discord/{proxy+}",
    ),
    Mutation(
        rules_access.routes_ask_who_is_there,
        "a route asks nobody",
        "template/ApiRoute/Properties/AuthorizationType",
        "NONE",
    ),
    Mutation(
        rules_access.routes_ask_who_is_there,
        "a function has a URL of its own",
        "template/GatewayUrl",
        {"Type": "AWS::Lambda::Url", "Properties": {"AuthType": "NONE"}},
    ),
    Mutation(
        rules_access.stages_are_throttled,
        "the stage has no limits",
        "template/HttpStage/Properties/DefaultRouteSettings",
        GONE,
    ),
    Mutation(
        rules_access.stages_are_throttled,
        "a route lifts them",
        "template/HttpStage/Properties/RouteSettings",
        {"GET /api/health": {"DetailedMetricsEnabled": True}},
    ),
    Mutation(
        rules_access.stages_are_throttled,
        "the stage of the WebSocket API has no limits",
        "websocket/LiveStage/Properties/DefaultRouteSettings",
        GONE,
    ),
    Mutation(
        rules_access.callers_are_named,
        "a permission is for every API of every account",
        "template/RestGatewayPermission/Properties/SourceArn",
        GONE,
    ),
)

DATA = (
    Mutation(
        rules_data.data_is_encrypted,
        "the table says nothing of encryption",
        "data/OwnTable/Properties/SSESpecification",
        GONE,
    ),
    Mutation(
        rules_data.data_is_encrypted,
        "the bucket says nothing of it",
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
        rules_data.data_outlives_the_stack,
        "a queue is deleted with the stack",
        "data/TurnsQueue/DeletionPolicy",
        "Delete",
    ),
    Mutation(
        rules_data.data_outlives_the_stack,
        "the table is deleted when it has to be replaced",
        "data/OwnTable/UpdateReplacePolicy",
        GONE,
    ),
    Mutation(
        rules_data.data_outlives_the_stack,
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
        rules_data.the_table_forgets,
        "expiry goes by an attribute that nobody writes",
        "data/OwnTable/Properties/TimeToLiveSpecification/AttributeName",
        "expires",
    ),
    Mutation(
        rules_data.the_bucket_is_private,
        "one of the four blocks is off",
        "data/OwnBucket/Properties/PublicAccessBlockConfiguration/BlockPublicPolicy",
        "false",
    ),
    Mutation(
        rules_data.the_bucket_is_private,
        "only reading needs TLS",
        "data/BucketPolicy/Properties/PolicyDocument/Statement/0/Action",
        "s3:GetObject",
    ),
    Mutation(
        rules_data.the_bucket_keeps_versions,
        "versions are off",
        "data/OwnBucket/Properties/VersioningConfiguration/Status",
        "Suspended",
    ),
    Mutation(
        rules_data.the_bucket_keeps_versions,
        "nothing ends old versions",
        "data/OwnBucket/Properties/LifecycleConfiguration/Rules",
        lambda old: [rule for rule in old if "NoncurrentVersionExpiration" not in rule],
    ),
)
