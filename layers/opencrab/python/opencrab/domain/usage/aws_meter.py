"""Meter: what AWS charges for, and what each unit of it costs."""

from collections.abc import Mapping
from datetime import date
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from opencrab.domain.value import MicroUsd, Value

_MICRO = 1_000_000

Amount = Annotated[Decimal, Field(ge=0, le=10**15)]


class Meter(StrEnum):
    """A quantity that costs money, at AWS or for models; members are in display order."""

    ALARMS = "alarms"
    DASHBOARDS = "dashboards"
    METRICS = "metrics"
    TABLE_GB = "table_gb"
    BACKUP_GB = "backup_gb"
    BUCKET_GB = "bucket_gb"
    KEPT_LOG_GB = "kept_log_gb"
    WRITE_UNITS = "write_units"
    READ_UNITS = "read_units"
    SQS_REQUESTS = "sqs_requests"
    STANDARD_SQS_REQUESTS = "standard_sqs_requests"
    HTTP_REQUESTS = "http_requests"
    LAMBDA_REQUESTS = "lambda_requests"
    LAMBDA_GB_SECONDS = "lambda_gb_seconds"
    S3_WRITES = "s3_writes"
    S3_READS = "s3_reads"
    KMS_REQUESTS = "kms_requests"
    LOG_BYTES = "log_bytes"
    TRACES = "traces"
    CLOUDFRONT_REQUESTS = "cloudfront_requests"
    CLOUDFRONT_BYTES = "cloudfront_bytes"
    CLOUDFRONT_RUNS = "cloudfront_runs"
    WEBSOCKET_MESSAGES = "websocket_messages"
    WEBSOCKET_MINUTES = "websocket_minutes"
    SEARCH_HOURS = "search_hours"
    FILE_GB = "file_gb"
    TRANSFER_BYTES = "transfer_bytes"
    MODEL_USD = "model_usd"


Usage = Mapping[Meter, Decimal]
"""The amount used of each meter."""


class MeterPrice(Value):
    """The price of a meter: `usd` for each `per`; `free` of it costs nothing each month."""

    usd: Amount
    per: Annotated[int, Field(gt=0)] = 1
    free: Amount = Decimal(0)
    as_of: date

    def micro_usd(self, amount: Decimal) -> MicroUsd:
        """Compute the cost of an amount in micro-dollars, rounded up."""
        exact = amount * self.usd * _MICRO / self.per
        return int(exact.to_integral_value(rounding=ROUND_CEILING))

    def after_free(self, amount: Decimal) -> MicroUsd:
        """Compute the cost of what exceeds the month's free amount."""
        return self.micro_usd(max(amount - self.free, Decimal(0)))
