"""Names of an installation's AWS resources, from the environment that the template sets."""

import logging
from functools import cache
from typing import TYPE_CHECKING

from opencrab.adapters.dynamodb.table import Table
from opencrab.domain.errors import Invalid

if TYPE_CHECKING:
    from opencrab.gateways.aws.lambda_log import LambdaLog
    from opencrab.settings import Settings


def aws_setting(configured: "Settings", name: str) -> str:
    """Return the setting `aws.NAME`; raises Invalid if it is not set."""
    value = str(configured.get(f"aws.{name}"))
    if not value:
        variable = f"OPENCRAB_AWS__{name.upper()}"
        raise Invalid(
            f"the environment variable {variable} is not set",
            field=f"aws.{name}",
            cure="deploy with the template, which sets it",
        )
    return value


def aws_table_of_process(configured: "Settings") -> Table:
    """Return the DynamoDB table, one per process, so that its connections are reused."""
    return _table_named(aws_setting(configured, "table"))


def lambda_log(configured: "Settings") -> "LambdaLog":
    """Create the logger of a Lambda function, which takes over the process's log."""
    from opencrab.gateways.aws.lambda_log import LambdaLog

    names = logging.getLevelNamesMapping()
    level = names.get(str(configured.get("log.level")).upper(), logging.INFO)
    return LambdaLog(f"opencrab-{configured.get('aws.stage')}", level)


@cache
def _table_named(name: str) -> Table:
    return Table(name)
