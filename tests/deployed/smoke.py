"""`make test-aws`: what an emulator cannot settle, asked of AWS itself in some ten minutes.

    OPENCRAB_TEST_AWS=123456789012 make test-aws

The number is the account's; without it, or with that of another account, nothing is deployed. It
costs some cents: a few hundred calls, no model, and an hour of nothing.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import botocore.session
from botocore.exceptions import BotoCoreError, ClientError

from opencrab.adapters.system_clock import SystemClock
from tests.conftest import ROOT
from tests.deployed.account import AccountStack, own_environment, rest

CONTINUATIONS = 25
"""Lambda ends a loop of some 16 calls; a turn that is given back so often must not be one."""

SHORT_SECONDS = 20
"""Too short for a model's call, so that a turn is given back at once."""

SECRET = "sk-made-up-and-deleted"
_DENIED = {"AccessDenied", "AccessDeniedException"}

Check = Callable[[AccountStack], None]


def an_agent_answers(stack: AccountStack) -> None:
    """API, authoriser, queues, table and functions work together."""
    turn = stack.send(stack.new_session(), "say shell")
    assert stack.wait_for_turn(turn, 180)["status"] == "completed"


def a_turn_is_given_back_25_times(stack: AccountStack) -> None:
    """Lambda's recursion guard does not take a turn that continues for a loop."""
    session, began = stack.new_session(), SystemClock().now().timestamp()
    with stack.short_calls("agent-turn", SHORT_SECONDS):
        turn = stack.send(session, "say tide")
        deadline = time.monotonic() + 240
        while stack.calls_of("agent-turn", "AgentTurnLogs", began) < CONTINUATIONS:
            assert time.monotonic() < deadline, "the turn came too seldom"
            rest(3)
    assert stack.wait_for_turn(turn, 180)["status"] == "completed"


def secrets_are_found_by_their_path(stack: AccountStack) -> None:
    """The worker's role reads what lies below the stage's path, and nothing beside it."""
    path = f"/opencrab/{stack.stage}/"
    stack.client("ssm").put_parameter(Name=f"{path}STUB_API_KEY", Value=SECRET, Type="SecureString")
    ssm = stack.client("ssm", **stack.acting_as("AgentTurn"))
    found = ssm.get_parameters_by_path(Path=path, WithDecryption=True)["Parameters"]
    assert [each["Value"] for each in found] == [SECRET], found
    assert is_denied(lambda: ssm.get_parameters_by_path(Path="/opencrab/other/"))


def single_partitions_are_kept_in_transactions(stack: AccountStack) -> None:
    """`dynamodb:LeadingKeys` holds for each part of a transaction."""
    dynamodb = stack.client("dynamodb", **stack.acting_as("MetaAnalysis"))

    def put(*partitions: str) -> Callable[[], object]:
        items = [
            {
                "Put": {
                    "TableName": stack.outputs["TableName"],
                    "Item": {"pk": {"S": each}, "sk": {"S": "smoke"}},
                }
            }
            for each in partitions
        ]
        return lambda: dynamodb.transact_write_items(TransactItems=items)

    put("FACT#smoke")()
    assert is_denied(put("SESSION#smoke"))
    assert is_denied(put("FACT#smoke", "SESSION#smoke"))


def data_stays_when_the_stack_is_deleted(stack: AccountStack) -> None:
    """Table, bucket and queues are retained; the last check, as the stack is gone then."""
    before = stack.left()
    stack.delete_stack()
    after = stack.left()
    assert after["tables"], "the table is gone"
    assert after["buckets"], "the bucket is gone"
    assert after["queues"] == before["queues"], "queues are gone"


CHECKS: tuple[Check, ...] = (
    an_agent_answers,
    a_turn_is_given_back_25_times,
    secrets_are_found_by_their_path,
    single_partitions_are_kept_in_transactions,
    data_stays_when_the_stack_is_deleted,
)


def is_denied(call: Callable[[], object]) -> bool:
    """Whether AWS refuses a call for want of a permission; other errors are raised."""
    try:
        call()
    except ClientError as error:
        if error.response["Error"]["Code"] in _DENIED:
            return True
        raise
    return False


def try_stack(
    stack: AccountStack, checks: tuple[Check, ...] = CHECKS, *, is_kept: bool = False
) -> list[str]:
    """Deploy, check everything, and remove everything whatever happened; the failures."""
    failures = []
    began = time.monotonic()
    stack.say(f"stack {stack.name} in {stack.region}: deploying")
    try:
        stack.deploy()
        for check in checks:
            name = check.__name__.replace("_", " ")
            try:
                check(stack)
            except (AssertionError, ClientError, BotoCoreError, OSError) as error:
                failures.append(f"{name}: {error}")
            verdict = "FAIL" if failures and failures[-1].startswith(name) else "ok"
            stack.say(f"{verdict:4} {name} ({time.monotonic() - began:.0f} s)")
    except AssertionError as error:
        failures.append(str(error))
    finally:
        if not is_kept:
            stack.say("removing the stack and its data")
            try:
                stack.remove_all()
            except (AssertionError, ClientError) as error:
                failures.append(str(error))
    return failures


def main() -> int:
    """Try a stack in the account that OPENCRAB_TEST_AWS names."""
    wanted = os.environ.get("OPENCRAB_TEST_AWS", "")  # noqa: TID251 - whose account it may be
    session = botocore.session.Session()
    # As the AWS CLI and SAM do; botocore alone knows the other name only.
    region = os.environ.get("AWS_REGION") or session.get_config_variable("region")  # noqa: TID251
    if not wanted or not region:
        sys.stderr.write(
            "test-aws: say in which account: OPENCRAB_TEST_AWS=ACCOUNT-NUMBER AWS_REGION=us-east-1 "
            "make test-aws\n"
        )
        return 2
    try:
        account = session.create_client("sts", region_name=region).get_caller_identity()["Account"]
    except (BotoCoreError, ClientError) as error:
        sys.stderr.write(f"test-aws: AWS does not say whose credentials these are: {error}\n")
        return 2
    if account != wanted:
        sys.stderr.write(
            f"test-aws: the credentials are of account {account}, not of {wanted}; nothing was "
            "deployed\n"
        )
        return 2
    with tempfile.TemporaryDirectory() as folder:
        stack = AccountStack(
            sam=Path(shutil.which("sam") or ROOT / ".venv-sam" / "bin" / "sam"),
            built=ROOT / ".aws-sam" / "build",
            folder=Path(folder),
            environment=own_environment(),
            region=region,
            say=lambda line: sys.stdout.write(f"{line}\n"),
        )
        failures = try_stack(stack)
    for each in failures:
        sys.stdout.write(f"\n{each}\n")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
