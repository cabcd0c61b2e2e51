"""Rules for what keeps data: encrypted, private, restorable, and still there without the stack."""

from collections.abc import Iterator

from tests.template.permissions import policies_on
from tests.template.stacks import Resource, Stacks, Violation, holds, number

TABLE = "AWS::DynamoDB::Table"
BUCKET = "AWS::S3::Bucket"
QUEUE = "AWS::SQS::Queue"
TOPIC = "AWS::SNS::Topic"
BLOCKS = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
TTL_ATTRIBUTE = "ttl"
OF_THE_RELEASE = {
    "page.PageBucket": "files of the release, which every deployment puts there again"
}
"""Buckets that hold no data, with the reason; they need not be kept."""


def data_is_encrypted(stacks: Stacks) -> Iterator[Violation]:
    """The table, the bucket and every queue have encryption at rest set explicitly.

    They contain conversations. AWS's defaults encrypt them today; the template says so itself,
    so that a change of a default changes nothing here.
    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-server-side-encryption.html
    """
    for table in stacks.of(TABLE):
        if not holds(table.at("SSESpecification", "SSEEnabled")):
            yield Violation(table.address, "is not encrypted", "SSESpecification: SSEEnabled: true")
    for bucket in stacks.of(BUCKET):
        rules = bucket.items("BucketEncryption", "ServerSideEncryptionConfiguration")
        if not any(rule.get("ServerSideEncryptionByDefault") for rule in rules):
            yield Violation(bucket.address, "is not encrypted", "BucketEncryption: AES256")
    for queue in stacks.of(QUEUE):
        if not holds(queue.at("SqsManagedSseEnabled")) and not queue.at("KmsMasterKeyId"):
            yield Violation(queue.address, "is not encrypted", "SqsManagedSseEnabled: true")


def alarms_can_use_their_topic(stacks: Stacks) -> Iterator[Violation]:
    """A topic of alarms is encrypted with no key, or with one that CloudWatch may use.

    CloudWatch may not use AWS's own key for topics, alias/aws/sns: the alarm turns red and
    nobody gets a mail. An alarm names resources, never content; a customer managed key costs
    $1 a month.
    Source: https://repost.aws/knowledge-center/cloudwatch-configure-alarm-sns
    """
    topics = [
        stacks.find(action)
        for alarm in stacks.of("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")
        for action in alarm.items("AlarmActions")
    ]
    for topic in stacks.of(TOPIC):
        if topic in topics and "alias/aws/sns" in str(topic.at("KmsMasterKeyId")):
            yield Violation(
                topic.address,
                "is encrypted with a key that CloudWatch may not use",
                "drop KmsMasterKeyId, or name a key whose policy allows cloudwatch.amazonaws.com",
            )


def data_is_retained(stacks: Stacks) -> Iterator[Violation]:
    """The table, the bucket and the queues are retained when their stack deletes or replaces them.

    Removing OpenCrab must not remove what agents remember, and a changed name must not start
    them with an empty table.
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-deletionpolicy.html
    """
    kept = (TABLE, BUCKET, QUEUE, "AWS::KMS::Key")
    for resource in (each for each in stacks.of(*kept) if each.address not in OF_THE_RELEASE):
        for attribute in ("DeletionPolicy", "UpdateReplacePolicy"):
            if resource.attributes.get(attribute) not in {"Retain", "RetainExceptOnCreate"}:
                yield Violation(resource.address, f"has no {attribute}", f"{attribute}: Retain")
    for table in stacks.of(TABLE):
        if not holds(table.at("DeletionProtectionEnabled")):
            yield Violation(
                table.address, "can be deleted by one call", "DeletionProtectionEnabled: true"
            )


def the_table_can_be_restored(stacks: Stacks) -> Iterator[Violation]:
    """The table has point-in-time recovery, for any second of the last 35 days.

    A bug that overwrites records is found days later; by then a nightly backup contains the
    overwritten records too.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/PointInTimeRecovery.html
    """
    for table in stacks.of(TABLE):
        if not holds(table.at("PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled")):
            yield Violation(
                table.address,
                "has no point-in-time recovery",
                "PointInTimeRecoverySpecification: PointInTimeRecoveryEnabled: true",
            )


def the_table_expires_items(stacks: Stacks) -> Iterator[Violation]:
    """The table deletes expired items by the attribute that the adapter writes.

    Otherwise ended turns, idempotency keys and connections remain, and are paid for, forever.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html
    """
    for table in stacks.of(TABLE):
        if (
            not holds(table.at("TimeToLiveSpecification", "Enabled"))
            or table.at("TimeToLiveSpecification", "AttributeName") != TTL_ATTRIBUTE
        ):
            yield Violation(
                table.address,
                "does not delete expired items",
                f"TimeToLiveSpecification: AttributeName: {TTL_ATTRIBUTE}, Enabled: true",
            )


def the_bucket_is_private(stacks: Stacks) -> Iterator[Violation]:
    """The bucket has all four public access blocks and refuses plain HTTP.

    Agents' files belong to their owners. An ACL or a policy written by mistake must not make
    them public.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/security-best-practices.html
    """
    for bucket in stacks.of(BUCKET):
        missing = [
            name for name in BLOCKS if not holds(bucket.at("PublicAccessBlockConfiguration", name))
        ]
        if missing:
            yield Violation(
                bucket.address,
                f"may be opened to the public: {', '.join(missing)}",
                "PublicAccessBlockConfiguration: all four true",
            )
        if not _refuses_plain_http(stacks, bucket):
            yield Violation(
                bucket.address,
                "answers over plain HTTP",
                "a policy that denies s3:* on the bucket and its objects "
                "where aws:SecureTransport is false",
            )


def the_bucket_keeps_versions(stacks: Stacks) -> Iterator[Violation]:
    """The bucket keeps noncurrent versions for a limited time.

    An agent may overwrite its own work, and an owner may want it back. Noncurrent versions are
    paid for.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/Versioning.html
    """
    for bucket in (each for each in stacks.of(BUCKET) if each.address not in OF_THE_RELEASE):
        if bucket.at("VersioningConfiguration", "Status") != "Enabled":
            yield Violation(
                bucket.address, "keeps no versions", "VersioningConfiguration: Status: Enabled"
            )
        rules = [
            rule
            for rule in bucket.items("LifecycleConfiguration", "Rules")
            if rule.get("Status") == "Enabled"
        ]
        for wanted, limit in (
            ("NoncurrentVersionExpiration", "NoncurrentDays"),
            ("AbortIncompleteMultipartUpload", "DaysAfterInitiation"),
        ):
            if not any(number((rule.get(wanted) or {}).get(limit)) for rule in rules):
                yield Violation(
                    bucket.address, f"has no {wanted}", f"LifecycleConfiguration: {wanted}"
                )


def _refuses_plain_http(stacks: Stacks, bucket: Resource) -> bool:
    """Whether the bucket's policy denies everybody everything that comes without TLS."""
    return any(
        not statement.allows
        and statement.covers("s3:GetObject")
        and statement.covers("s3:PutObject")
        and statement.covers("s3:ListBucket")
        and str(statement.condition.get("Bool", {}).get("aws:SecureTransport")).lower() == "false"
        and statement.raw.get("Principal") in ("*", {"AWS": "*"})
        and {False, True} <= {each.endswith("/*") for each in statement.resources}
        for statement in policies_on(stacks, bucket)
    )
