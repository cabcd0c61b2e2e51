"""The whole stack over its life: parameters, a failed update, restore, removal, a new deployment.

On an emulator of its own, in this order. What the emulator cannot: create OpenSearch Serverless's
access policies or transform a nested template, so search stays `sqlite`, and asking for `efs` is
the update that fails.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from tests.deployed import emulator as ministack
from tests.deployed import stack as sam
from tests.deployed.emulator import Emulator, rest
from tests.deployed.stack import NAME, Stack
from tests.discord.fake import FakeDiscord
from tests.soak import SOAK

pytest_plugins = ["tests.deployed.fixture"]
pytestmark = [
    pytest.mark.deployed,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not SOAK, reason="four minutes and more: `OPENCRAB_SOAK=1 make test-deployed` does it"
    ),
]

ALWAYS = {
    *("agent-turn", "compaction", "delivery", "heartbeat", "meta-analysis"),
    *("rest-authorizer", "rest-gateway", "search-indexer"),
}
DISCORD = {"discord-gateway", "discord-interactions"}
RESTORED = "opencrab-test-restored"


@dataclass
class House:
    """The stack, whose outputs an update may change, and who is at home."""

    emulator: Emulator
    discord: FakeDiscord
    stack: Stack

    @property
    def functions(self) -> set[str]:
        """The stack's functions, by their names in its template."""
        found = self.emulator.client("lambda").list_functions(MaxItems=50)["Functions"]
        return {each["FunctionName"].removeprefix(f"{NAME}-") for each in found}

    def agents(self) -> set[str]:
        """The names of agents that the API lists."""
        return {each["name"] for each in self.stack.told("GET", "/agents")["items"]}

    def update(self, **changed: str) -> str:
        """Change parameters of the stack, as `make deploy --set` does; how the update ended."""
        client = self.emulator.client("cloudformation")
        (stack,) = client.describe_stacks(StackName=NAME)["Stacks"]
        given = [
            {"ParameterKey": key, "ParameterValue": changed[key]}
            if (key := each["ParameterKey"]) in changed
            else {"ParameterKey": key, "UsePreviousValue": True}
            for each in stack["Parameters"]
        ]
        client.update_stack(
            StackName=NAME,
            UsePreviousTemplate=True,
            Parameters=given,
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        )
        status = self.settled()
        (stack,) = client.describe_stacks(StackName=NAME)["Stacks"]
        outputs = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}
        self.stack = replace(self.stack, outputs=outputs)
        return status

    def settled(self) -> str:
        """The stack's status when nothing changes any more, "" if there is none."""
        client = self.emulator.client("cloudformation")
        while True:
            try:
                (stack,) = client.describe_stacks(StackName=NAME)["Stacks"]
            except ClientError:
                return ""
            if not stack["StackStatus"].endswith("IN_PROGRESS"):
                return str(stack["StackStatus"])
            rest(0.25)


@pytest.fixture(scope="module")
def house(
    discord: FakeDiscord, built: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("updates")
    with ministack.emulator(folder) as made:
        yield House(made, discord, sam.deploy(made, built, folder, discord))


def talk(house: House) -> str:
    """An agent answers; the session."""
    agent = house.stack.agent("Nami")
    session = house.stack.session(agent)
    assert "shell" in answers(house, session, "say shell")
    return session


def answers(house: House, session: str, text: str) -> str:
    """What an agent says to something."""
    said = house.stack.say(session, text)
    return " ".join(each["text"] for each in said["replies"])


def test_parameters_switch_parts_on_and_off_and_conversations_go_on(house: House) -> None:
    assert house.functions == ALWAYS | DISCORD | {"websocket-gateway"}
    turns, session = house.stack.outputs["TurnsQueueUrl"], talk(house)

    assert house.update(Discord="off", WebSocket="off", World="on") == "UPDATE_COMPLETE"
    assert house.functions == ALWAYS | {"world-gateway"}
    assert "WebSocketUrl" not in house.stack.outputs
    assert "foam" in answers(house, session, "say foam")

    assert house.update(Discord="on", WebSocket="on", World="off") == "UPDATE_COMPLETE"
    assert house.functions == ALWAYS | DISCORD | {"websocket-gateway"}
    assert house.stack.outputs["WebSocketUrl"]
    assert house.stack.outputs["TurnsQueueUrl"] == turns
    assert "kelp" in answers(house, session, "say kelp")


def test_versions_with_snapshots_or_processes_kept_ready_are_called_and_renewed(
    house: House,
) -> None:
    functions, session = house.emulator.client("lambda"), talk(house)

    def versions() -> set[str]:
        alias = "live"
        return {
            functions.get_alias(FunctionName=f"{NAME}-{name}", Name=alias)["FunctionVersion"]
            for name in ("agent-turn", "rest-gateway")
        }

    def turn_function() -> str:
        found = functions.list_event_source_mappings()["EventSourceMappings"]
        (arn,) = [each["FunctionArn"] for each in found if "agent-turn" in each["FunctionArn"]]
        return str(arn)

    assert house.update(SnapStart="on", Release="one") == "UPDATE_COMPLETE"
    found = functions.get_function_configuration(
        FunctionName=f"{NAME}-rest-gateway", Qualifier="live"
    )
    assert found["SnapStart"] == {"ApplyOn": "PublishedVersions", "OptimizationStatus": "On"}
    assert turn_function().endswith(":live")
    first = versions()
    assert "ebb" in answers(house, session, "say ebb")

    assert house.update(Release="two") == "UPDATE_COMPLETE"
    assert versions().isdisjoint(first), "what is called is of the last deployment"
    assert "tide" in answers(house, session, "say tide")

    assert (
        house.update(SnapStart="off", ProvisionedConcurrency="1", Release="three")
        == "UPDATE_COMPLETE"
    )
    assert "swell" in answers(house, session, "say swell")
    with pytest.raises(ClientError, match="exclude each other"):
        house.update(SnapStart="on")

    assert house.update(ProvisionedConcurrency="0") == "UPDATE_COMPLETE"
    assert turn_function().endswith("agent-turn")
    assert "reef" in answers(house, session, "say reef")


def test_an_update_that_fails_is_rolled_back_and_everything_works_as_before(house: House) -> None:
    before, functions = house.stack.outputs, house.functions
    assert house.update(SearchBackend="efs") == "UPDATE_ROLLBACK_COMPLETE"
    assert (house.stack.outputs, house.functions) == (before, functions)
    talk(house)


def test_a_restored_table_takes_the_place_of_the_old_one(house: House) -> None:
    dynamodb, old = house.emulator.client("dynamodb"), house.stack.outputs["TableName"]
    house.stack.agent("Before")
    dynamodb.restore_table_to_point_in_time(
        SourceTableName=old, TargetTableName=RESTORED, UseLatestRestorableTime=True
    )
    house.stack.agent("After")
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    dynamodb.update_table(TableName=RESTORED, StreamSpecification=stream)
    arn = dynamodb.describe_table(TableName=RESTORED)["Table"]["LatestStreamArn"]
    assert {"Before", "After"} <= house.agents()

    assert house.update(Table=RESTORED, TableStream=arn) == "UPDATE_COMPLETE"
    assert house.stack.outputs["TableName"] == RESTORED
    assert {"Before", "After"} & house.agents() == {"Before"}
    assert old in dynamodb.list_tables()["TableNames"], "an old table is kept"
    talk(house)


def test_after_removal_the_data_is_there_and_a_new_deployment_uses_it(house: House) -> None:
    emulator, outputs = house.emulator, house.stack.outputs
    session = talk(house)
    table = emulator.client("dynamodb").describe_table(TableName=outputs["TableName"])["Table"]
    emulator.client("cloudformation").delete_stack(StackName=NAME)
    assert house.settled() == ""
    assert house.functions == set()
    kept = {
        "Table": outputs["TableName"],
        "Bucket": outputs["BucketName"],
        "TableStream": table["LatestStreamArn"],
        "SecretArn": outputs["SecretArn"],
    }
    house.stack = sam.deploy(emulator, house.stack.built, emulator.folder, house.discord, **kept)
    assert house.stack.outputs["BucketName"] == outputs["BucketName"]
    story = house.stack.told("GET", f"/sessions/{session}/messages")["items"]
    assert any("shell" in str(each.get("text")) for each in story)
    assert "wave" in answers(house, session, "say wave")
