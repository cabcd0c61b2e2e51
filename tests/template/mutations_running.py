"""Changes that break the rules for queues and functions."""

from tests.template import rules_functions, rules_queues
from tests.template.mutation import GONE, Mutation, extended_by, statement

TURNS = {"Fn::GetAtt": ["Data", "Outputs.TurnsQueueArn"]}
WRITTEN = "Properties/Environment/Variables"

QUEUES = (
    Mutation(
        rules_queues.visibility_covers_the_function,
        "a queue's visibility timeout is one second too short",
        "data/TurnsQueue/Properties/VisibilityTimeout",
        1799,
    ),
    Mutation(
        rules_queues.visibility_covers_the_function,
        "a function's timeout is one second too long for its queue",
        "template/DeliveryFunction/Properties/Timeout",
        91,
    ),
    Mutation(
        rules_queues.queues_have_dead_letters,
        "a queue has no redrive policy",
        "data/DeliveriesQueue/Properties/RedrivePolicy",
        GONE,
    ),
    Mutation(
        rules_queues.queues_have_dead_letters,
        "a FIFO queue has a standard dead-letter queue",
        "data/TurnsQueue/Properties/RedrivePolicy/deadLetterTargetArn",
        {"Fn::GetAtt": ["BackgroundDeadQueue", "Arn"]},
    ),
    Mutation(
        rules_queues.schedules_have_dead_letters,
        "the heartbeat's schedule has no dead-letter queue",
        "template/HeartbeatFunctionMinute/Properties/Targets/0/DeadLetterConfig",
        GONE,
    ),
    Mutation(
        rules_queues.schedules_have_dead_letters,
        "its dead-letter queue is a FIFO queue",
        "template/HeartbeatFunctionMinute/Properties/Targets/0/DeadLetterConfig/Arn",
        {"Fn::GetAtt": ["Data", "Outputs.TurnsDeadQueueArn"]},
    ),
    Mutation(
        rules_queues.schedules_may_write_dead_letters,
        "the queue has no policy",
        "data/BackgroundDeadQueuePolicy",
        GONE,
    ),
    Mutation(
        rules_queues.schedules_may_write_dead_letters,
        "the policy names another schedule",
        "template/HeartbeatFunctionMinute/Properties/Name",
        "opencrab-beat",
    ),
    Mutation(
        rules_queues.dead_letters_last_fourteen_days,
        "a dead-letter queue has SQS's default retention of four days",
        "data/TurnsDeadQueue/Properties/MessageRetentionPeriod",
        GONE,
    ),
    Mutation(
        rules_queues.dead_letter_queues_have_alarms,
        "an alarm watches another queue",
        "observability/DeadLettersAlarm/Properties/Metrics/3/MetricStat/Metric/Dimensions/0/Value",
        "${data.TurnsQueue.QueueName}",
    ),
    Mutation(
        rules_queues.dead_letter_queues_have_alarms,
        "an alarm has a threshold of ten messages",
        "observability/DeadLettersAlarm/Properties/Threshold",
        10,
    ),
    Mutation(
        rules_queues.dead_letter_queues_have_alarms,
        "the dead-letter queue of an optional part has no alarm",
        "observability/DeadLettersAlarm/Properties/Metrics/5",
        GONE,
    ),
    Mutation(
        rules_queues.alarms_have_actions,
        "one alarm of many has no action",
        "observability/BudgetAlarm/Properties/AlarmActions",
        GONE,
    ),
    Mutation(
        rules_queues.batch_failures_are_partial,
        "an event source lacks ReportBatchItemFailures",
        "template/AgentTurnFunctionTurn/Properties/FunctionResponseTypes",
        GONE,
    ),
    Mutation(
        rules_queues.batch_failures_are_partial,
        "a FIFO queue has batch size 10",
        "template/DeliveryFunctionDelivery/Properties/BatchSize",
        10,
    ),
    Mutation(
        rules_queues.queues_limit_concurrency,
        "an event source has no maximum concurrency",
        "template/AgentTurnFunctionTurn/Properties/ScalingConfig",
        GONE,
    ),
    Mutation(
        rules_queues.queues_limit_concurrency,
        "a function has reserved concurrency",
        "template/AgentTurnFunction/Properties/ReservedConcurrentExecutions",
        5,
    ),
    Mutation(
        rules_queues.few_queues_are_polled,
        "there are six event sources",
        "template",
        lambda old: {**old, **{f"More{at}": old["DeliveryFunctionDelivery"] for at in range(3)}},
    ),
    Mutation(
        rules_queues.no_queue_invokes_itself,
        "the function that runs turns may send to the queue of turns",
        statement("AgentTurnRole", "sqs:SendMessage") + "/Resource",
        extended_by(TURNS),
    ),
    Mutation(
        rules_queues.no_queue_invokes_itself,
        "a turn may send a delivery and a delivery a turn",
        statement("DeliveryRole", "sqs:SendMessage") + "/Resource",
        extended_by(TURNS),
    ),
)

STREAMS = tuple(
    Mutation(
        rules_queues.streams_have_failure_destinations,
        words,
        f"template/SearchIndexerFeed/{path}",
        to,
    )
    for words, path, to in (
        ("a failing batch is retried for a day", "Properties/MaximumRetryAttempts", -1),
        ("a failing batch is not bisected", "Properties/BisectBatchOnFunctionError", GONE),
        ("the indexer has no filter", "Properties/FilterCriteria", GONE),
        (
            "the failure destination is a FIFO queue",
            "Properties/DestinationConfig/OnFailure/Destination",
            {"Fn::GetAtt": ["Data", "Outputs.TurnsDeadQueueArn"]},
        ),
    )
)

STREAMS += (
    Mutation(
        rules_queues.streams_have_two_readers_at_most,
        "with all options on a third function consumes the stream",
        "template",
        lambda old: {**old, "ThirdFeed": old["SearchIndexerFeed"]},
    ),
)

FUNCTIONS = (
    Mutation(
        rules_functions.functions_match_their_layers,
        "a function runs on an older Python",
        "template/AgentTurnFunction/Properties/Runtime",
        "python3.12",
    ),
    Mutation(
        rules_functions.functions_match_their_layers,
        "a function names no architecture, which means x86_64",
        "template/AgentTurnFunction/Properties/Architectures",
        GONE,
    ),
    Mutation(
        rules_functions.functions_match_their_layers,
        "a layer is for x86_64 too",
        "template/~DependenciesLayer/Properties/CompatibleArchitectures",
        ["arm64", "x86_64"],
    ),
    Mutation(
        rules_functions.functions_are_traced,
        "a function has tracing mode PassThrough",
        "template/AgentTurnFunction/Properties/TracingConfig/Mode",
        "PassThrough",
    ),
    Mutation(
        rules_functions.functions_have_no_vpc,
        "a function is in a VPC",
        "template/AgentTurnFunction/Properties/VpcConfig",
        {"SubnetIds": ["subnet-1"]},
    ),
    Mutation(
        rules_functions.recursive_loops_are_stopped,
        "a function allows recursive loops",
        "template/AgentTurnFunction/Properties/RecursiveLoop",
        "Allow",
    ),
    Mutation(
        rules_functions.log_groups_have_retention,
        "a log group has no retention period",
        "observability/AgentTurnLogs/Properties/RetentionInDays",
        GONE,
    ),
    Mutation(
        rules_functions.log_groups_have_retention,
        "a function names a log group that the template does not create",
        "template/AgentTurnFunction/Properties/LoggingConfig/LogGroup",
        "/elsewhere",
    ),
    Mutation(
        rules_functions.handlers_exist,
        "a function's folder is misspelt",
        "template/DeliveryFunction/Properties/Code/S3Key",
        "functions/deliverer",
    ),
    Mutation(
        rules_functions.handlers_exist,
        "a function's handler is in a module that does not exist",
        "template/HeartbeatFunction/Properties/Handler",
        "app.handler",
    ),
    Mutation(
        rules_functions.timeouts_fit_the_api,
        "rest_gateway has a timeout of 30 seconds",
        "template/RestGatewayFunction/Properties/Timeout",
        30,
    ),
    Mutation(
        rules_functions.timeouts_fit_the_api,
        "discord_gateway has one",
        "template/DiscordGatewayFunction/Properties/Timeout",
        30,
    ),
    Mutation(
        rules_functions.variables_hold_no_secret,
        "a variable is named like a key, whatever its value is",
        f"template/AgentTurnFunction/{WRITTEN}/OPENAI_API_KEY",
        "later",
    ),
    Mutation(
        rules_functions.variables_hold_no_secret,
        "a variable with a harmless name has a provider's key as its value",
        f"template/AgentTurnFunction/{WRITTEN}/OPENCRAB_AWS__STAGE",
        "sk-proj-4f",
    ),
    Mutation(
        rules_functions.variables_hold_no_secret,
        "the value of a variable is a long random word",
        f"template/AgentTurnFunction/{WRITTEN}/OPENCRAB_AWS__STAGE",
        "q8ZrT1vLw0XnB5cY7kJd3HsMf6",
    ),
    Mutation(
        rules_functions.variables_hold_no_secret,
        "a variable has a dynamic reference to a secret",
        f"template/AgentTurnFunction/{WRITTEN}/OPENCRAB_AWS__STAGE",
        "{{resolve:secretsmanager:opencrab:SecretString:openai}}",
    ),
    Mutation(
        rules_functions.variables_name_settings,
        "a variable is misspelt",
        f"template/AgentTurnFunction/{WRITTEN}/OPENCRAB_AWS__TABEL",
        "main",
    ),
    Mutation(
        rules_functions.variables_name_settings,
        "another function has a variable of discord_gateway, which it does not read",
        f"template/DeliveryFunction/{WRITTEN}/OPENCRAB_DISCORD_API",
        "https://discord.com/api/v10",
    ),
)
