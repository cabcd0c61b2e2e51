"""Rules for queues, schedules and what they call: nothing is lost, doubled or run for ever."""

from collections.abc import Iterator

from tests.template.permissions import Statement, granted_to, policies_on, role_of
from tests.template.stacks import Resource, Stacks, Violation, holds, listed, number

QUEUE = "AWS::SQS::Queue"
MAPPING = "AWS::Lambda::EventSourceMapping"
FUNCTION = "AWS::Lambda::Function"
ALARM = "AWS::CloudWatch::Alarm"
VISIBLE = ("AWS/SQS", "ApproximateNumberOfMessagesVisible")
FOURTEEN_DAYS = 14 * 24 * 3600
POLLED_QUEUES = 5
STREAM_READERS = 2

ASKED_FOR = {
    "template.WorldGatewayFunctionMessage": "off by default; explanation/worlds.md has the cost",
}
"""Event sources of parts that most installations never switch on: not counted among the few."""

ROUNDS = {
    "data.BeatsQueue": "the function's other half sends beats, each minute; no beat sends one",
}
"""Queues to which their own function may send, by address, with what ends it before Lambda does."""


def visibility_covers_the_function(stacks: Stacks) -> Iterator[Violation]:
    """A queue's visibility timeout is six times its function's timeout.

    When throttled, Lambda retries a batch while it still holds the messages. If the visibility
    timeout ends meanwhile, SQS delivers the message again and a second worker takes the
    running turn.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
    """
    for queue, function in _consumers(stacks):
        wanted = 6 * (number(function.at("Timeout")) or 3)
        hidden = number(queue.at("VisibilityTimeout")) or 30
        if hidden < wanted:
            yield Violation(
                queue.address,
                f"has a visibility timeout of {hidden} s; {function.address!r} needs {wanted} s",
                f"VisibilityTimeout: {wanted}",
            )


def queues_have_dead_letters(stacks: Stacks) -> Iterator[Violation]:
    """A queue that calls a function has a dead-letter queue of its own type.

    Without one, a message that always fails is redelivered until it expires, and is then lost.
    FIFO and standard queues cannot use each other's dead-letter queues.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html
    """
    for queue in [queue for queue, _ in _consumers(stacks)]:
        target = stacks.find(queue.at("RedrivePolicy", "deadLetterTargetArn"))
        if target is None or number(queue.at("RedrivePolicy", "maxReceiveCount")) < 1:
            yield Violation(
                queue.address,
                "has no dead-letter queue",
                "RedrivePolicy: deadLetterTargetArn and maxReceiveCount",
            )
        elif holds(target.at("FifoQueue")) != holds(queue.at("FifoQueue")):
            yield Violation(
                queue.address,
                f"cannot move messages to {target.address!r}, which is of another type",
                "make both FIFO, or neither",
            )


def schedules_have_dead_letters(stacks: Stacks) -> Iterator[Violation]:
    """A schedule has a standard dead-letter queue for events that it cannot deliver.

    Without one, EventBridge drops a heartbeat that it cannot deliver, and nobody notices.
    Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-dlq.html
    """
    for schedule, arn in _schedule_targets(stacks):
        queue = stacks.find(arn)
        if queue is None:
            yield Violation(schedule.address, "has no dead-letter queue", "DeadLetterConfig: Arn")
        elif holds(queue.at("FifoQueue")):
            yield Violation(
                schedule.address,
                f"cannot write its dead letters to {queue.address!r}, a FIFO queue",
                "name a standard queue",
            )


def schedules_may_write_dead_letters(stacks: Stacks) -> Iterator[Violation]:
    """A schedule has permission to write to its dead-letter queue.

    EventBridge does not check this at deployment: without the queue's policy (rules) or its
    own role's permission (Scheduler) the events are lost without an error.
    Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-dlq.html
    """
    for schedule, arn in _schedule_targets(stacks):
        queue = stacks.find(arn)
        if queue is None or holds(queue.at("FifoQueue")):
            continue
        if schedule.type == "AWS::Events::Rule":
            statements = policies_on(stacks, queue)
            cure = f"an AWS::SQS::QueuePolicy on {queue.address!r} for events.amazonaws.com"
        else:
            role = stacks.find(schedule.at("Target", "RoleArn"))
            statements = granted_to(stacks, role) if role else []
            cure = "let its role send to that queue"
        if not any(
            statement.allows
            and statement.covers("sqs:SendMessage")
            and any(stacks.find(each) == queue for each in statement.resources)
            and _is_met_by(stacks, statement, schedule)
            for statement in statements
        ):
            yield Violation(schedule.address, f"may not write to {queue.address!r}", cure)


def dead_letters_last_fourteen_days(stacks: Stacks) -> Iterator[Violation]:
    """A dead-letter queue retains messages for fourteen days, the maximum of SQS.

    An owner who returns from a holiday and sees the alarm must still find the message.
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-sqs-queue.html
    """
    for queue in dead_letter_queues(stacks):
        if number(queue.at("MessageRetentionPeriod")) != FOURTEEN_DAYS:
            yield Violation(
                queue.address,
                f"keeps dead letters for {queue.at('MessageRetentionPeriod') or '4 days'}",
                f"MessageRetentionPeriod: {FOURTEEN_DAYS}",
            )


def dead_letter_queues_have_alarms(stacks: Stacks) -> Iterator[Violation]:
    """Every dead-letter queue has an alarm that goes off at the first message, if there are alarms.

    Dead letters that nobody looks at are lost when they expire. Without an address for alarms
    there are none.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/dead-letter-queues-alarms-cloudwatch.html
    """
    alarms = stacks.of(ALARM)
    if not alarms:
        return
    watched = [
        stacks.find(dimension.get("Value"))
        for alarm in alarms
        if _rings_at_the_first_message(alarm)
        for metric in alarm.items("Metrics")
        for dimension in metric.get("MetricStat", {}).get("Metric", {}).get("Dimensions", [])
    ]
    for queue in dead_letter_queues(stacks):
        if queue not in watched:
            yield Violation(
                queue.address,
                "has no alarm for its first message",
                "an AWS::CloudWatch::Alarm: ApproximateNumberOfMessagesVisible > 0, its QueueName",
            )


def alarms_have_actions(stacks: Stacks) -> Iterator[Violation]:
    """If any alarm has an action, every alarm has one.

    An alarm without an action only turns red in a console that nobody has open.
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-actions.html
    """
    alarms = stacks.of(ALARM)
    if not stacks.of("AWS::SNS::Topic") and not any(each.items("AlarmActions") for each in alarms):
        return
    for alarm in alarms:
        if not alarm.items("AlarmActions"):
            yield Violation(alarm.address, "has no action", "AlarmActions: the topic")


def batch_failures_are_partial(stacks: Stacks) -> Iterator[Violation]:
    """A queue's function reports partial batch failures, and a FIFO queue has batch size 1.

    Without ReportBatchItemFailures a turn cannot be continued by redelivery, and messages that
    succeeded are redelivered together with the one that failed.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
    """
    for mapping, queue in _mappings(stacks):
        if "ReportBatchItemFailures" not in mapping.items("FunctionResponseTypes"):
            yield Violation(
                mapping.address,
                "does not report partial batch failures",
                "FunctionResponseTypes: [ReportBatchItemFailures]",
            )
        if holds(queue.at("FifoQueue")) and number(mapping.at("BatchSize")) != 1:
            yield Violation(
                mapping.address,
                f"takes up to {mapping.at('BatchSize') or 10} messages of a FIFO queue at once",
                "BatchSize: 1",
            )


def queues_limit_concurrency(stacks: Stacks) -> Iterator[Violation]:
    """Concurrency is limited at the event source, not by reserved concurrency of the function.

    Reserved concurrency throttles the function while Lambda goes on polling its queue:
    messages are received without being handled, and end in the dead-letter queue. It also
    reduces the account's concurrency.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
    """
    for mapping, _ in _mappings(stacks):
        if number(mapping.at("ScalingConfig", "MaximumConcurrency")) < 2:
            yield Violation(
                mapping.address,
                "has no maximum concurrency",
                "ScalingConfig: MaximumConcurrency of 2 or more",
            )
    for _, function in _consumers(stacks):
        if function.at("ReservedConcurrentExecutions") is not None:
            yield Violation(
                function.address,
                "reserves concurrency",
                "drop ReservedConcurrentExecutions; limit the queue's event source",
            )


def few_queues_are_polled(stacks: Stacks) -> Iterator[Violation]:
    """At most five queues are event sources of functions, without those of optional parts.

    Lambda polls each of them all the time, and SQS bills every empty receive: this is most of
    the cost of an idle installation.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
    """
    found = (mapping for mapping, _ in _mappings(stacks))
    polled = [mapping for mapping in found if mapping.address not in ASKED_FOR]
    for mapping in polled[POLLED_QUEUES:]:
        yield Violation(
            mapping.address,
            f"is event source number {polled.index(mapping) + 1} of at most {POLLED_QUEUES}",
            "let the sweep or an existing queue do this",
        )


def no_queue_invokes_itself(stacks: Stacks) -> Iterator[Violation]:
    """No function may send to a queue that invoked it, directly or through other queues.

    Lambda's recursive loop detection stops such a loop after about 16 invocations, in the
    middle of a turn. Follow-up work is a due item, which the sweep admits; a loop that is
    certain to end long before is listed.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
    """
    leads: dict[str, set[str]] = {}
    for queue, function in _consumers(stacks):
        sent = _sends_to(stacks, function)
        if queue.address in ROUNDS:
            sent.discard(queue.address)
        leads.setdefault(queue.address, set()).update(sent)
    for queue, function in _consumers(stacks):
        if queue.address in _reached(leads, queue.address):
            yield Violation(
                queue.address,
                f"messages to it may lead back to it through {function.address!r}",
                "take sqs:SendMessage from the role; write a due item instead",
            )


def streams_have_failure_destinations(stacks: Stacks) -> Iterator[Violation]:
    """An event source of a stream has a filter, limited retries and a failure destination.

    By default Lambda retries a failing batch until its records expire after a day, and
    everything behind it in the shard waits. By bisecting the batch only the bad record is
    given up, and goes to a queue with an alarm. Without a filter every write to the table
    would invoke the function.
    Source: https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html
    """
    for mapping in stacks.of(MAPPING):
        if mapping in [queued for queued, _ in _mappings(stacks)]:
            continue
        wanted = {
            "MaximumRetryAttempts": 0 < number(mapping.at("MaximumRetryAttempts")) <= 10,
            "BisectBatchOnFunctionError": holds(mapping.at("BisectBatchOnFunctionError")),
            "DestinationConfig: OnFailure": _keeps_failures(stacks, mapping),
            "FilterCriteria": bool(mapping.items("FilterCriteria", "Filters")),
        }
        for name, is_there in wanted.items():
            if not is_there:
                yield Violation(mapping.address, f"has no useful {name}", f"set {name}")


def streams_have_two_readers_at_most(stacks: Stacks) -> Iterator[Violation]:
    """A stream has at most two consumers.

    DynamoDB throttles more than two, and a consumer that is a day late loses records.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
    """
    queued = [mapping for mapping, _ in _mappings(stacks)]
    readers: dict[str, int] = {}
    for mapping in stacks.of(MAPPING):
        if mapping in queued:
            continue
        stream = str(mapping.at("EventSourceArn"))
        readers[stream] = readers.get(stream, 0) + 1
        if readers[stream] > STREAM_READERS:
            yield Violation(
                mapping.address,
                f"is reader number {readers[stream]} of at most {STREAM_READERS}",
                "let a function that follows the stream already do this",
            )


def _keeps_failures(stacks: Stacks, mapping: Resource) -> bool:
    """Whether what it gives up goes to a standard queue to which its function may send."""
    queue = stacks.find(mapping.at("DestinationConfig", "OnFailure", "Destination"))
    function = stacks.find(mapping.at("FunctionName"))
    if queue is None or function is None or holds(queue.at("FifoQueue")):
        return False
    return queue.address in _sends_to(stacks, function)


def dead_letter_queues(stacks: Stacks) -> list[Resource]:
    """The queues that others, or schedules, or functions move their failures to."""
    targets = [queue.at("RedrivePolicy", "deadLetterTargetArn") for queue in stacks.of(QUEUE)]
    targets += [arn for _, arn in _schedule_targets(stacks)]
    targets += [function.at("DeadLetterConfig", "TargetArn") for function in stacks.of(FUNCTION)]
    targets += [
        config.at("DestinationConfig", "OnFailure", "Destination")
        for config in stacks.of("AWS::Lambda::EventInvokeConfig", MAPPING)
    ]
    found = [stacks.find(target) for target in targets]
    return [queue for queue in stacks.of(QUEUE) if queue in found]


def _mappings(stacks: Stacks) -> list[tuple[Resource, Resource]]:
    """Event sources that are queues, each with its queue."""
    found = [(mapping, stacks.find(mapping.at("EventSourceArn"))) for mapping in stacks.of(MAPPING)]
    return [(mapping, queue) for mapping, queue in found if queue and queue.type == QUEUE]


def _consumers(stacks: Stacks) -> list[tuple[Resource, Resource]]:
    """Queues that call functions, each with its function."""
    found = [
        (queue, stacks.find(mapping.at("FunctionName"))) for mapping, queue in _mappings(stacks)
    ]
    return [(queue, function) for queue, function in found if function]


def _schedule_targets(stacks: Stacks) -> list[tuple[Resource, object]]:
    """Each target of a schedule, as its schedule and the ARN of its dead letters."""
    targets: list[tuple[Resource, object]] = [
        (rule, (target.get("DeadLetterConfig") or {}).get("Arn"))
        for rule in stacks.of("AWS::Events::Rule")
        for target in rule.items("Targets")
    ]
    targets += [
        (schedule, schedule.at("Target", "DeadLetterConfig", "Arn"))
        for schedule in stacks.of("AWS::Scheduler::Schedule")
    ]
    return targets


def _is_met_by(stacks: Stacks, statement: Statement, schedule: Resource) -> bool:
    """Whether a statement is for everybody's schedules, or names this one as the source."""
    sources = [
        source
        for values in statement.condition.values()
        for key, value in values.items()
        if key.lower() == "aws:sourcearn"
        for source in listed(value)
    ]
    return not sources or any(stacks.means(source, schedule) for source in sources)


def _rings_at_the_first_message(alarm: Resource) -> bool:
    """Whether an alarm adds up messages of queues and goes off at one."""
    metrics = [each["MetricStat"]["Metric"] for each in alarm.items("Metrics")[1:]]
    added = [each.get("Expression") for each in alarm.items("Metrics")[:1]]
    level = alarm.at("ComparisonOperator"), number(alarm.at("Threshold"))
    return (
        added == ["SUM(FILL(METRICS(), 0))"]
        and all((each["Namespace"], each["MetricName"]) == VISIBLE for each in metrics)
        and level in {("GreaterThanThreshold", 0), ("GreaterThanOrEqualToThreshold", 1)}
    )


def _sends_to(stacks: Stacks, function: Resource) -> set[str]:
    role = role_of(stacks, function)
    targets = [
        stacks.find(each)
        for statement in (granted_to(stacks, role) if role else [])
        if statement.allows and statement.covers("sqs:SendMessage")
        for each in statement.resources
    ]
    return {queue.address for queue in targets if queue and queue.type == QUEUE}


def _reached(leads: dict[str, set[str]], start: str) -> set[str]:
    """Every queue that a message to the first may lead to."""
    found: set[str] = set()
    ahead = set(leads.get(start, ()))
    while ahead:
        queue = ahead.pop()
        found.add(queue)
        ahead |= leads.get(queue, set()) - found
    return found
