"""`make deploy`: what it asks of the operator, of SAM and of nobody, and what it leaves behind."""

import hashlib
import json
import re
import stat
from collections.abc import Callable

import pytest

from infra import advice, page
from infra.deploy import RELEASE, UNSAVED
from opencrab.domain.identifier import content_hash
from tests.conftest import ROOT
from tests.infra.desk import ACCOUNT, FAKE, URL, Desk


def test_the_first_deployment_makes_a_key_and_deploys_its_hash(desk: Desk) -> None:
    ended = desk.deploy()
    assert (ended.returncode, ended.stderr) == (0, "")
    secret = desk.key.read_text(encoding="utf-8").strip()
    assert secret.startswith("oc_")
    assert len(secret) == 46
    assert stat.S_IMODE(desk.key.stat().st_mode) == 0o600
    assert stat.S_IMODE(desk.key.parent.stat().st_mode) == 0o700
    (told,) = desk.sam("deploy")
    overrides = told[told.index("--parameter-overrides") + 1 :]
    assert overrides == ["Stage=main", f"OwnerKeyHash={content_hash(secret.encode())}"]
    assert told[told.index("--stack-name") + 1] == "opencrab-main"
    assert told[told.index("--region") + 1] == "eu-west-1"
    assert {"--no-confirm-changeset", "--resolve-s3", "CAPABILITY_AUTO_EXPAND"} <= set(told)
    assert "--guided" not in told
    assert secret not in ended.stdout + json.dumps(desk.sam("deploy") + desk.sam("list"))


def test_the_end_says_where_it_is_and_what_comes_next(desk: Desk) -> None:
    said = desk.deploy("--stage", "prod").stdout
    key = desk.key.with_name(f"prod-{ACCOUNT}-eu-west-1.key")
    assert f"OpenCrab is deployed: {URL}\n" in said
    assert f"owner's key  {key}\n" in said
    assert "/opencrab/prod/OPENAI_API_KEY" in said
    assert f"export OPENCRAB_URL={URL} OPENCRAB_KEY=$(cat {key})" in said
    assert "opencrab doctor" in said


def test_the_end_says_that_nobody_hears_alarms_and_that_little_may_run_at_once(desk: Desk) -> None:
    said = desk.deploy().stdout
    assert "alarms       none" in said
    assert "AWS runs at most 10 functions of this account at once" in said
    assert "--set MaximumConcurrency=3 --set NightFunctions=1" in said
    assert "alarms       none" not in desk.deploy("--set", "AlarmMail=me@example.com").stdout


def test_ids_that_do_not_fit_into_the_functions_variables_are_refused_before_the_build(
    desk: Desk,
) -> None:
    ids = ",".join(["123456789012345678"] * 48)
    refused = desk.deploy("--check", "--set", f"DiscordUserIds={ids}")
    assert refused.returncode == 1
    assert "have 911 bytes; Lambda's variables have room for 900" in refused.stderr
    assert "DiscordRoleIds" in refused.stderr
    assert "variables" not in desk.deploy("--check", "--set", f"DiscordUserIds={ids[19:]}").stderr


def test_the_end_says_what_discord_has_to_know_where_there_is_discord(desk: Desk) -> None:
    plain = desk.deploy().stdout
    assert "Interactions Endpoint" not in plain
    assert "wss:" not in plain
    said = desk.deploy("--set", "Discord=on", "--set", "WebSocket=on").stdout
    assert f"Interactions Endpoint URL  {URL}/discord/interactions\n" in said
    assert "/opencrab/main/DISCORD_TOKEN, a SecureString of Systems Manager\n" in said
    assert "live         wss://def.execute-api.eu-west-1.amazonaws.com/live\n" in said


def test_the_line_for_the_providers_key_fits_what_is_installed(desk: Desk) -> None:
    desk.environ["PATH"] = f"{desk.folder / 'bin'}"
    assert "in the AWS console: Systems Manager" in desk.deploy().stdout
    aws = desk.folder / "bin" / "aws"
    aws.write_text("#!/bin/sh\n", encoding="utf-8")
    aws.chmod(0o755)
    said = desk.deploy().stdout
    assert 'read -rs OPENAI_API_KEY && printf %s "$OPENAI_API_KEY" \\\n' in said
    assert "| aws ssm put-parameter --region eu-west-1 " in said
    assert "--name /opencrab/main/OPENAI_API_KEY --value file:///dev/stdin" in said


def test_the_line_for_a_key_is_of_the_stacks_provider_and_secret(desk: Desk) -> None:
    assert "/opencrab/main/GOOGLE_API_KEY" in desk.deploy("--set", "DefaultProvider=google").stdout
    assert "/opencrab/main/GOOGLE_API_KEY" in desk.deploy().stdout
    assert "no key is needed" in desk.deploy("--set", "DefaultProvider=scripted").stdout
    assert "no key is needed" in desk.deploy("--set", "DefaultProvider=bedrock").stdout
    secret = "arn:aws:secretsmanager:eu-west-1:1:secret:keys"
    said = desk.deploy("--set", "DefaultProvider=xai", "--set", f"SecretArn={secret}").stdout
    assert f"secret {secret}, field XAI_API_KEY\n" in said
    told = desk.deploy("--set", "Discord=on").stdout
    assert f"field DISCORD_TOKEN of the secret {secret}\n" in told


def test_a_later_deployment_changes_no_parameter(desk: Desk) -> None:
    desk.deploy()
    before = desk.key.read_text(encoding="utf-8")
    assert desk.deploy().returncode == 0
    assert "--parameter-overrides" not in desk.sam("deploy")[-1]
    assert desk.key.read_text(encoding="utf-8") == before


def test_another_computer_does_not_replace_the_owners_key(desk: Desk) -> None:
    desk.deploy()
    desk.key.rename(desk.key.with_suffix(".kept"))
    ended = desk.deploy()
    assert ended.returncode == 0
    assert "not on this computer, and unchanged" in ended.stdout
    assert not desk.key.exists()
    assert not any("OwnerKeyHash" in text for text in desk.sam("deploy")[-1])


def test_a_new_key_is_made_when_asked_and_never_over_the_old(desk: Desk) -> None:
    desk.deploy()
    refused = desk.deploy("--new-owner-key")
    assert refused.returncode == 1
    assert "already exists" in refused.stderr
    old = desk.key.read_text(encoding="utf-8")
    desk.key.unlink()
    assert desk.deploy("--new-owner-key").returncode == 0
    new = desk.key.read_text(encoding="utf-8")
    assert new != old
    digest = hashlib.sha256(new.strip().encode()).hexdigest()
    assert f"OwnerKeyHash={digest}" in desk.sam("deploy")[-1]


def test_a_key_of_the_operators_own_is_written_nowhere(desk: Desk) -> None:
    own = "oc_" + "k" * 40
    ended = desk.deploy(OPENCRAB_OWNER_KEY=own)
    assert ended.returncode == 0
    assert not desk.key.exists()
    assert f"OwnerKeyHash={content_hash(own.encode())}" in desk.sam("deploy")[-1]
    assert own not in ended.stdout


def test_a_later_deployment_sends_nothing_that_was_saved_before(desk: Desk) -> None:
    assert desk.sit_and_deploy().returncode == 0
    assert 'Table=""' in desk.saved["parameter_overrides"]
    assert desk.deploy("--set", "Table=opencrab-restored").returncode == 0
    assert desk.sam("deploy")[-1][-2:] == ["--parameter-overrides", "Table=opencrab-restored"]
    desk.key.rename(desk.key.with_suffix(".leaked"))
    assert desk.deploy("--new-owner-key").returncode == 0
    new = content_hash(desk.key.read_bytes().strip())
    for deploy in (desk.sit_and_deploy, desk.deploy):
        assert deploy().returncode == 0
        told = desk.sam("deploy")[-1]
        assert "--parameter-overrides" not in told
        assert told[told.index("--config-env") + 1] == UNSAVED
        assert (desk.stack["Table"], desk.stack["OwnerKeyHash"]) == ("opencrab-restored", new)


def test_every_deployment_says_where_the_stack_is(desk: Desk) -> None:
    desk.home.mkdir(parents=True)
    saved = 'version = 0.1\n[main.deploy.parameters]\nstack_name = "蟹"\nregion = "eu-west-1"\n'
    (desk.home / "main.toml").write_text(f"{saved}confirm_changeset = true\n", encoding="utf-8")
    (desk.folder / "bin" / "stack").write_text('{"Stage": "main"}', encoding="utf-8")
    assert f"stack 蟹 in account {ACCOUNT}, region eu-west-1\n" in desk.deploy().stdout
    assert desk.sam("deploy")[-1][1:] == [
        *("--stack-name", "蟹", "--region", "eu-west-1", "--resolve-s3", "--s3-prefix", "蟹"),
        *("--capabilities", "CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"),
        *("--no-fail-on-empty-changeset", "--config-env", UNSAVED, "--no-confirm-changeset"),
    ]
    assert desk.sam("list")[-1][2:4] == ["--stack-name", "蟹"]
    assert desk.sit_and_deploy().returncode == 0
    assert desk.sam("deploy")[-1][-1] == "--confirm-changeset"


def test_a_stack_that_failed_at_first_is_deployed_like_a_new_one(desk: Desk) -> None:
    (desk.folder / "bin" / "sam").write_text(
        FAKE.replace("kept(told)\n", "sys.exit(1)\n"), encoding="utf-8"
    )
    desk.types(AlarmMail="蟹@example.com")
    failed = desk.sit_and_deploy()
    assert failed.returncode == 1
    assert re.search(r"sam delete --stack-name opencrab-main --region eu-west-1\n", failed.stdout)
    (desk.folder / "bin" / "sam").write_text(FAKE, encoding="utf-8")
    listing = FAKE.replace(
        "    listed()", '    sys.exit("Outputs do not exist for the input stack")'
    )
    (desk.folder / "bin" / "sam").write_text(listing, encoding="utf-8")
    before = desk.key.read_text(encoding="utf-8")
    declined = desk.deploy()
    assert "nothing was deployed" in declined.stderr
    digest = content_hash(before.strip().encode())
    told = {"Stage": "main", "OwnerKeyHash": digest, "AlarmMail": "蟹@example.com"}
    assert desk.stack == told


def test_the_key_and_the_folder_of_the_checkout_stay_apart(desk: Desk) -> None:
    before = {path: path.read_bytes() for path in desk.checkout.rglob("*") if path.is_file()}
    desk.sit_and_deploy()
    assert {
        path: path.read_bytes() for path in desk.checkout.rglob("*") if path.is_file()
    } == before
    assert sorted(path.name for path in desk.home.iterdir()) == [desk.key.name, "main.toml"]


def test_another_region_has_another_key(desk: Desk) -> None:
    desk.deploy(AWS_REGION="ap-northeast-1")
    told = desk.sam("deploy")[-1]
    assert told[told.index("--region") + 1] == "ap-northeast-1"
    assert [path.name for path in desk.home.iterdir()] == [f"main-{ACCOUNT}-ap-northeast-1.key"]


def test_a_region_typed_at_sams_question_moves_the_key_along(desk: Desk) -> None:
    desk.types(region="us-west-2")
    ended = desk.sit_and_deploy()
    moved = desk.home / f"main-{ACCOUNT}-us-west-2.key"
    assert f"owner's key  {moved}\n" in ended.stdout
    assert moved.exists()
    assert not desk.key.exists()


def test_a_stage_typed_at_sams_question_is_noticed(desk: Desk) -> None:
    desk.types(Stage="prod")
    ended = desk.sit_and_deploy()
    assert ended.returncode == 1
    assert "is not of the stage 'main', but of 'prod'" in ended.stderr
    assert "is deployed" not in ended.stdout
    assert desk.deploy().returncode == 1
    assert len(desk.sam("deploy")) == 1


@pytest.mark.parametrize(
    ("set_", "chosen"),
    [
        ({"AWS_REGION": "us-east-1"}, "us-east-1"),
        ({"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "eu-north-1"}, "us-east-1"),
        ({"AWS_DEFAULT_REGION": "eu-north-1"}, "eu-north-1"),
        ({"AWS_PROFILE": "work"}, "sa-east-1"),
        ({"AWS_PROFILE": "work", "AWS_REGION": "us-east-1"}, "us-east-1"),
    ],
)
def test_the_region_is_the_one_that_is_set_or_the_profiles(
    desk: Desk, set_: dict[str, str], chosen: str
) -> None:
    del desk.environ["AWS_DEFAULT_REGION"]
    profile = "[profile work]\nregion = sa-east-1\n"
    profile += "aws_access_key_id = a\naws_secret_access_key = b\n"
    (desk.folder / "config").write_text(profile, encoding="utf-8")
    desk.deploy(AWS_CONFIG_FILE=str(desk.folder / "config"), **set_)
    told = desk.sam("deploy")[-1]
    assert told[told.index("--region") + 1] == chosen
    assert ("--profile" in told) == ("AWS_PROFILE" in set_)


def test_a_check_asks_aws_nothing_and_leaves_nothing(desk: Desk) -> None:
    assert desk.deploy("--check").returncode == 0
    assert desk.sam("list") + desk.sam("deploy") == []
    assert not desk.key.parent.exists()


def _forget(*names: str) -> Callable[[Desk], None]:
    def forget(desk: Desk) -> None:
        for name in names:
            del desk.environ[name]

    return forget


def _spoil(desk: Desk) -> None:
    desk.home.mkdir(parents=True)
    (desk.home / "main.toml").write_text("[", encoding="utf-8")


def _elsewhere(desk: Desk) -> None:
    desk.home.mkdir(parents=True)
    saved = '[main.deploy.parameters]\nstack_name = "s"\nregion = "us-east-1"\nprofile = "work"\n'
    (desk.home / "main.toml").write_text(saved, encoding="utf-8")


def _expire(desk: Desk) -> None:
    desk.environ["AWS_ACCESS_KEY_ID"] = "expired"


def _home(desk: Desk) -> None:
    _elsewhere(desk)
    desk.environ["AWS_PROFILE"] = "home"


def _trouble(desk: Desk) -> None:
    (desk.folder / "bin" / "trouble").write_text("ExpiredToken: it is over", encoding="utf-8")


@pytest.mark.parametrize(
    ("args", "spoil", "message", "cure"),
    [
        ([], _forget("AWS_ACCESS_KEY_ID"), "there are no AWS credentials", "aws configure"),
        ([], _forget("AWS_DEFAULT_REGION"), "no AWS region", "AWS_REGION"),
        ([], lambda desk: desk.environ.update(AWS_PROFILE="nobody"), "nobody", "AWS_PROFILE"),
        ([], _spoil, "main.toml cannot be read", "correct it"),
        ([], _home, "AWS_PROFILE is 'home', but 'main' was deployed with 'work'", "unset"),
        ([], _elsewhere, "AWS_DEFAULT_REGION is 'eu-west-1', but", "--keys"),
        ([], _expire, "ExpiredToken", "renew them"),
        ([], _trouble, "ExpiredToken: it is over", "credentials"),
        ([], lambda desk: desk.environ.update(OPENCRAB_OWNER_KEY="蟹"), "too weak", "random"),
        (["--stage", "Prod"], _forget(), "'Prod' is not a valid stage name", "a-z"),
        (
            ["--stage", "default"],
            _forget(),
            "'default' is not a valid stage name",
            "reserved by SAM",
        ),
        (["--stage", "global"], _forget(), "'global' is not a valid stage name", "reserved by SAM"),
        (["--stage", "a" * 17], _forget(), "is not a valid stage name", "a-z"),
        (["--set", "AlarmMail"], _forget(), "'AlarmMail' is not of the form", "NAME=VALUE"),
        (["--set", "Stage=x"], _forget(), "cannot change the parameter 'Stage'", "--stage"),
        (["--set", "Alarm=x"], _forget(), "no parameter 'Alarm'", "AlarmMail, DefaultProvider"),
    ],
)
def test_what_is_missing_is_said_with_its_cure_before_anything_is_made(
    desk: Desk, args: list[str], spoil: Callable[[Desk], None], message: str, cure: str
) -> None:
    spoil(desk)
    refused = desk.deploy(*args)
    assert (refused.returncode, refused.stdout) == (1, "")
    said, _, advice = refused.stderr.partition("\n  → ")
    assert said.startswith("deploy: ")
    assert message in said
    assert cure in advice
    assert not desk.key.exists()
    assert desk.sam("deploy") == []


def test_without_sam_and_without_a_build_it_says_so(desk: Desk) -> None:
    (desk.checkout / ".aws-sam" / "build" / "template.yaml").unlink()
    assert "nothing is built" in desk.deploy().stderr
    (desk.folder / "bin" / "sam").unlink()
    assert "the `sam` command is missing" in desk.deploy().stderr


def test_a_person_is_guided_the_first_time(desk: Desk) -> None:
    assert desk.sit_and_deploy().returncode == 0
    first = desk.sam("deploy")[-1]
    assert "--guided" in first
    assert first[first.index("--config-file") + 1] == str(desk.home / "main.toml")
    digest = content_hash(desk.key.read_bytes().strip())
    assert first[-2:] == ["Stage=main", f"OwnerKeyHash={digest}"]
    assert desk.sit_and_deploy().returncode == 0
    later = desk.sam("deploy")[-1]
    assert not {"--guided", "--config-file", "--confirm-changeset"} & set(later)


def test_what_sam_cannot_do_fails_here_too(desk: Desk) -> None:
    failing = FAKE.replace("kept(told)\n", "sys.exit(3)\n")
    (desk.folder / "bin" / "sam").write_text(failing, encoding="utf-8")
    ended = desk.deploy()
    assert ended.returncode == 3
    assert "is deployed" not in ended.stdout


def test_the_data_of_a_deployment_is_upgraded_until_that_has_ended(desk: Desk) -> None:
    ended = desk.deploy("--stage", "young")
    assert ended.returncode == 0
    assert "data         upgraded from an earlier release to 0.2.0" in ended.stdout
    assert "first_heartbeats: 3 of 120 agents" in ended.stdout
    again = desk.deploy("--stage", "young")
    assert again.returncode == 0
    assert "upgraded" not in again.stdout


def test_data_that_cannot_be_upgraded_is_said_with_its_cure(desk: Desk) -> None:
    ended = desk.deploy("--stage", "broken")
    assert ended.returncode == 1
    assert "the code is deployed, but its data is not upgraded: no table" in ended.stderr
    assert "run `make deploy` again" in ended.stderr


def test_the_stage_of_a_stack_of_an_earlier_release_is_told_by_its_queue(desk: Desk) -> None:
    (desk.folder / "bin" / "older").touch()
    desk.types(Stage="prod")
    ended = desk.sit_and_deploy()
    assert ended.returncode == 1
    assert "is not of the stage 'main', but of 'prod'" in ended.stderr


def test_what_is_looked_for_in_the_stack_is_an_output_of_the_template() -> None:
    template = (ROOT / "template.yaml").read_text(encoding="utf-8").partition("\nOutputs:")[2]
    looked_for = {"Stage", "ApiUrl", "TurnsQueueUrl", "DiscordInteractionsUrl", "WebSocketUrl"}
    looked_for.add(RELEASE)
    looked_for |= {page.URL, page.HOST, page.BUCKET, advice.ALARMS}
    assert looked_for <= set(re.findall(r"^  (\w+):", template, re.M))


def test_a_stack_that_publishes_versions_gets_a_new_release_with_each_deployment(
    desk: Desk,
) -> None:
    desk.deploy()
    assert not any(each.startswith("Release=") for each in desk.sam("deploy")[-1])
    desk.deploy("--set", "SnapStart=on")
    given = desk.sam("deploy")[-1]
    (release,) = [each for each in given if each.startswith("Release=")]
    assert re.fullmatch(r"Release=\d{14}", release)
    assert "SnapStart=on" in given
    desk.deploy()
    assert [each[:8] for each in desk.sam("deploy")[-1][-1:]] == ["Release="]
