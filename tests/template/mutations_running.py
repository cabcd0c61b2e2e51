"""Changes that break the rules for queues and functions."""

from tests.template import rules_functions, rules_queues
from tests.template.mutation import GONE, Mutation, extended_by, statement

TURNS = {"Fn::GetAtt": ["Data", "Outputs.TurnsQueueArn"]}
WRITTEN = "Properties/Environment/Variables"

QUEUES = (
    Mutation(
        rules_queues.visibility_covers_the_function,
        "a queue hides its messages a second too short",
        "data/TurnsQueue/Properties/VisibilityTimeout",
        1799,
    ),
    Mutation(
        rules_queues.visibility_covers_the_function,
        "a function may run a second longer than its queue allows for",
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
        "a FIFO queue's dead letters should go to a standard queue",
        "data/TurnsQueue/Properties/RedrivePolicy/deadLetterTargetArn",
        {"Fn::GetAtt": ["BackgroundDeadQueue", "Arn"]},
    ),
    Mutation(
        rules_queues.schedules_have_dead_letters,
        "the heartbeat's schedule names no queue for them",
        "template/HeartbeatFunctionMinute/Properties/Targets/0/DeadLetterConfig",
        GONE,
    ),
    Mutation(
        rules_queues.schedules_have_dead_letters,
        "it names a FIFO queue",
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
        "the schedule has another name than the policy says",
        "template/HeartbeatFunctionMinute/Properties/Name",
        "opencrab-beat",
    ),
    Mutation(
        rules_queues.dead_letters_last_fourteen_days,
        "a queue of dead letters keeps them for the four days of SQS's default",
        "data/TurnsDeadQueue/Properties/MessageRetentionPeriod",
        GONE,
    ),
    Mutation(
        rules_queues.dead_letters_ring_an_alarm,
        "an alarm watches another queue",
        "observability/BackgroundDeadAlarm/Properties/Dimensions/0/Value",
        "opencrab-main-turns.fifo",
    ),
    Mutation(
        rules_queues.dead_letters_ring_an_alarm,
        "an alarm waits for ten of them",
        "observability/TurnsDeadAlarm/Properties/Threshold",
        10,
    ),
    Mutation(
        rules_queues.dead_letters_ring_an_alarm,
        "nobody watches the dead letters of what is off by default",
        "observability/InteractionsDeadAlarm",
        GONE,
    ),
    Mutation(
        rules_queues.alarms_tell_somebody,
        "one alarm of many has no action",
        "observability/SpendAlarm/Properties/AlarmActions",
        GONE,
    ),
    Mutation(
        rules_queues.failures_are_reported_one_by_one,
        "an event source does not take reports of single failures",
        "template/AgentTurnFunctionTurn/Properties/FunctionResponseTypes",
        GONE,
    ),
    Mutation(
        rules_queues.failures_are_reported_one_by_one,
        "a FIFO queue hands over ten messages at once",
        "template/DeliveryFunctionDelivery/Properties/BatchSize",
        10,
    ),
    Mutation(
        rules_queues.queues_limit_concurrency,
        "an event source has no limit",
        "template/AgentTurnFunctionTurn/Properties/ScalingConfig",
        GONE,
    ),
    Mutation(
        rules_queues.queues_limit_concurrency,
        "a function reserves concurrency",
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
        rules_queues.no_queue_leads_back_to_itself,
        "the function that runs turns may send to the queue of turns",
        statement("AgentTurnRole", "sqs:SendMessage") + "/Resource",
        extended_by(TURNS),
    ),
    Mutation(
        rules_queues.no_queue_leads_back_to_itself,
        "a turn may send a delivery and a delivery a turn",
        statement("DeliveryRole", "sqs:SendMessage") + "/Resource",
        extended_by(TURNS),
    ),
)

STREAMS = tuple(
    Mutation(rules_queues.streams_give_up_and_tell, words, f"template/SearchIndexerFeed/{path}", to)
    for words, path, to in (
        ("a failing batch is repeated for a day", "Properties/MaximumRetryAttempts", -1),
        ("one bad record takes its batch with it", "Properties/BisectBatchOnFunctionError", GONE),
        ("every write starts the indexer", "Properties/FilterCriteria", GONE),
        (
            "failures should go to a FIFO queue",
            "Properties/DestinationConfig/OnFailure/Destination",
            {"Fn::GetAtt": ["Data", "Outputs.TurnsDeadQueueArn"]},
        ),
    )
)

STREAMS += (
    Mutation(
        rules_queues.streams_have_two_readers_at_most,
        "with everything on a third function follows the table",
        "template",
        lambda old: {**old, "ThirdFeed": old["SearchIndexerFeed"]},
    ),
)

FUNCTIONS = (
    Mutation(
        rules_functions.functions_run_where_they_were_built_for,
        "a function runs on an older Python",
        "template/AgentTurnFunction/Properties/Runtime",
        "python3.12",
    ),
    Mutation(
        rules_functions.functions_run_where_they_were_built_for,
        "a function names no architecture, which means x86_64",
        "template/AgentTurnFunction/Properties/Architectures",
        GONE,
    ),
    Mutation(
        rules_functions.functions_run_where_they_were_built_for,
        "a layer is for x86_64 too",
        "template/~DependenciesLayer/Properties/CompatibleArchitectures",
        ["arm64", "x86_64"],
    ),
    Mutation(
        rules_functions.functions_are_traced,
        "a function only passes traces on",
        "template/AgentTurnFunction/Properties/TracingConfig/Mode",
        "PassThrough",
    ),
    Mutation(
        rules_functions.functions_need_no_network_of_their_own,
        "a function is put into a VPC",
        "template/AgentTurnFunction/Properties/VpcConfig",
        {"SubnetIds": ["subnet-1"]},
    ),
    Mutation(
        rules_functions.the_recursion_guard_stays_on,
        "a function is allowed to loop",
        "template/AgentTurnFunction/Properties/RecursiveLoop",
        "Allow",
    ),
    Mutation(
        rules_functions.logs_end,
        "a group of logs has no end",
        "observability/AgentTurnLogs/Properties/RetentionInDays",
        GONE,
    ),
    Mutation(
        rules_functions.logs_end,
        "a function logs to a group that nobody makes",
        "template/AgentTurnFunction/Properties/LoggingConfig/LogGroup",
        "/elsewhere",
    ),
    Mutation(
        rules_functions.handlers_are_there,
        "a function's folder is misspelt",
        "template/DeliveryFunction/Properties/Code/S3Key",
        "functions/deliverer",
    ),
    Mutation(
        rules_functions.handlers_are_there,
        "a function's handler is in a module that is not there",
        "template/HeartbeatFunction/Properties/Handler",
        "app.handler",
    ),
    Mutation(
        rules_functions.answers_come_before_the_gateway_gives_up,
        "rest_gateway may run for 30 seconds",
        "template/RestGatewayFunction/Properties/Timeout",
        30,
    ),
    Mutation(
        rules_functions.answers_come_before_the_gateway_gives_up,
        "so may the door for Discord",
        "template/DiscordGatewayFunction/Properties/Timeout",
        30,
    ),
    Mutation(
        rules_functions.variables_hold_no_secret,
        "a variable is named like a key, whatever it holds",
        f"template/AgentTurnFunction/{WRITTEN}/OPENAI_API_KEY",
        "later",
    ),
    Mutation(
        rules_functions.variables_hold_no_secret,
        "a variable holds a provider's key under a harmless name",
        f"template/AgentTurnFunction/{WRITTEN}/OPENCRAB_AWS__STAGE",
        "sk-proj-4f",
    ),
    Mutation(
        rules_functions.variables_hold_no_secret,
        "a variable holds a long word made by chance",
        f"template/AgentTurnFunction/{WRITTEN}/OPENCRAB_AWS__STAGE",
        "q8ZrT1vLw0XnB5cY7kJd3HsMf6",
    ),
    Mutation(
        rules_functions.variables_hold_no_secret,
        "CloudFormation is asked to write a secret into a variable",
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
        "another function has a variable of the door for Discord, which it does not read",
        f"template/DeliveryFunction/{WRITTEN}/OPENCRAB_DISCORD_API",
        "https://discord.com/api/v10",
    ),
)
