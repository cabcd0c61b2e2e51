"""What operators do with a deployed stage from a terminal, with AWS credentials of their own."""

import os
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from opencrab.domain.errors import Invalid, NotFound, Unavailable
from opencrab.ports.installation.configuration import ConfigurationFault
from opencrab.ports.installation.deployed_settings import DeployedSettingsFile

_STAGE = re.compile(r"[a-z][a-z0-9]{0,15}", re.ASCII)
_ABSENT = "ValidationError"
_LOG_IN = "set AWS_PROFILE and AWS_REGION, or log in again, for example with `aws sso login`"


class OperatorSettings:
    """`ports.installation.deployed_settings.DeployedSettings`, by the stacks' outputs."""

    def open(self, stage: str) -> DeployedSettingsFile:
        return settings_file_of_deployed_stage(stage)

    def faults(self, name: str, content: bytes, language: str) -> Sequence[ConfigurationFault]:
        from opencrab.bootstrap.aws.settings_check import deployed_settings_faults

        return deployed_settings_faults(name, content, language)


def settings_file_of_deployed_stage(stage: str) -> DeployedSettingsFile:
    """Find the settings file of a stage by the outputs of its stack.

    Raises Invalid for a stage, NotFound if it is not deployed, Unavailable without credentials.
    """
    if not _STAGE.fullmatch(stage):
        raise Invalid(
            f"{stage!r} is not a stage",
            field="stage",
            cure="use the name that `make deploy` was given with --stage, such as main",
        )
    if find_spec("botocore") is None:
        raise Unavailable(
            "AWS credentials need botocore, which is not installed",
            cure="pip install 'opencrab[aws]'",
        )
    from opencrab.adapters.aws_client import aws_service_client
    from opencrab.adapters.s3_files.settings_file import S3SettingsFile
    from opencrab.bootstrap.bedrock import aws_account

    # botocore knows AWS_DEFAULT_REGION and profiles, but not AWS_REGION.
    region = aws_account(os.environ, Path.home()).region  # noqa: TID251  - AWS's own variables
    if not region:
        raise Unavailable("no AWS region is chosen", cure="set AWS_REGION, such as us-east-1")
    return S3SettingsFile(aws_service_client("s3", region_name=region), _bucket_of(stage, region))


def _bucket_of(stage: str, region: str) -> str:
    from opencrab.adapters.aws_client import AWS_ERRORS, aws_error_code, aws_service_client

    stack = f"opencrab-{stage}"
    try:
        client = aws_service_client("cloudformation", region_name=region)
        found: Any = client.describe_stacks(StackName=stack)
    except AWS_ERRORS as error:
        if aws_error_code(error) == _ABSENT:
            raise NotFound(
                f"there is no stack {stack!r} in this account and region",
                cure="correct --stage or AWS_REGION, or run `make deploy`",
            ) from error
        raise Unavailable(
            f"the stack {stack!r} cannot be read: {aws_error_code(error)}", cure=_LOG_IN
        ) from error
    outputs = {each["OutputKey"]: each["OutputValue"] for each in found["Stacks"][0]["Outputs"]}
    return str(outputs["BucketName"])
