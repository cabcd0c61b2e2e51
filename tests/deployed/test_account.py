"""`make test-aws` on the emulator: the same stack, checks and removal, as far as it goes.

What it cannot: it does not tell its judge of `dynamodb:LeadingKeys`, and finds no resource of
GetParametersByPath. Those two checks must fail here, as they judge by what AWS answers.
"""

from pathlib import Path

import pytest

from tests.deployed import emulator as ministack
from tests.deployed import smoke
from tests.deployed.account import AccountStack
from tests.deployed.emulator import REGION
from tests.deployed.stack import SAM

pytest_plugins = ["tests.deployed.fixture"]
pytestmark = [pytest.mark.deployed, pytest.mark.timeout(900)]


def test_a_stack_is_deployed_asked_and_removed_with_all_that_it_left(
    built: Path, tmp_path: Path
) -> None:
    said = list[str]()
    with ministack.emulator(tmp_path) as made:

        def served(url: str) -> str:
            api_id = url.removeprefix("https://").partition(".")[0]
            return f"{made.url}/_aws/execute-api/{api_id}/$default"

        stack = AccountStack(
            sam=SAM,
            built=built,
            folder=tmp_path,
            environment=made.environment(),
            region=REGION,
            say=said.append,
            api=served,
            trust=made.trust,
        )
        # With SSM, which the emulator does not let a role read by its path.
        secret = stack.client("secretsmanager").create_secret(Name="smoke", SecretString="{}")
        stack.parameters = {"SecretArn": secret["ARN"]}
        failures = smoke.try_stack(stack)
        left = stack.left()
    told = "\n".join([*said, *failures])
    failed = {each.partition(":")[0] for each in failures}
    assert failed == {
        "secrets are found by their path",
        "single partitions are kept in transactions",
    }, told
    assert not any(left.values()), left
