"""`make deploy`: what it asks of the operator, of SAM and of nobody, and what it leaves behind."""

import hashlib
import json
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from infra.deploy import Deployment, Wish
from opencrab.domain.identifier import content_hash
from tests.conftest import ROOT

DEPLOY = ROOT / "infra" / "deploy.py"
URL = "https://abc.execute-api.eu-west-1.amazonaws.com"

SAM = f"""#!{sys.executable}
import json, pathlib, sys
here = pathlib.Path(__file__).parent
with (here / "calls").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
stack = here / "stack"
if sys.argv[1] == "list":
    if (here / "trouble").exists():
        sys.exit((here / "trouble").read_text())
    if not stack.exists():
        sys.exit("Error: The input stack s does not exist on Cloudformation in the region r")
    print(json.dumps([{{"OutputKey": "ApiUrl", "OutputValue": "{URL}", "Description": ""}}]))
else:
    stack.touch()
"""


@dataclass
class Desk:
    """An operator's computer: a checkout that was built, a home, and a `sam` that takes notes."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> Path:
        return self.folder / "home" / ".opencrab" / "main.key"

    @property
    def checkout(self) -> Path:
        return self.folder / "checkout"

    def deploy(self, *args: str, **more: str) -> "subprocess.CompletedProcess[str]":
        """Run it from the checkout, with nobody at the keyboard."""
        code = "import sys, os, pathlib; from infra.deploy import main; sys.exit("
        code += "main(sys.argv[2:], os.environ, pathlib.Path(sys.argv[1])))"
        ended = subprocess.run(
            [sys.executable, "-c", code, str(self.checkout), *args],
            cwd=ROOT,
            env={**self.environ, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert "Traceback" not in ended.stderr, ended.stderr
        return ended

    def sam(self, command: str) -> list[list[str]]:
        """What SAM was told to do so far, by its first word."""
        calls = self.folder / "bin" / "calls"
        lines = calls.read_text().splitlines() if calls.exists() else []
        return [call for line in lines if (call := json.loads(line))[0] == command]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk with credentials and a region."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "sam").write_text(SAM, encoding="utf-8")
    (programs / "sam").chmod(0o755)
    built = tmp_path / "checkout" / ".aws-sam" / "build"
    built.mkdir(parents=True)
    (built / "template.yaml").touch()
    template = (
        "Parameters:\n  Stage:\n    Type: String\n  AlarmMail:\n    Type: String\n\nOutputs: {}\n"
    )
    (tmp_path / "checkout" / "template.yaml").write_text(template, encoding="utf-8")
    environ = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(tmp_path / "home"),
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    return Desk(tmp_path, environ)


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
    key = desk.key.with_name("prod.key")
    assert f"OpenCrab is deployed: {URL}\n" in said
    assert f"owner's key  {key}\n" in said
    assert "/opencrab/prod/OPENAI_API_KEY" in said
    assert f"export OPENCRAB_URL={URL} OPENCRAB_KEY=$(cat {key})" in said
    assert "opencrab doctor" in said


def test_the_line_for_the_providers_key_fits_what_is_installed(desk: Desk) -> None:
    desk.environ["PATH"] = f"{desk.folder / 'bin'}"
    assert "in the AWS console: Systems Manager" in desk.deploy().stdout
    aws = desk.folder / "bin" / "aws"
    aws.write_text("#!/bin/sh\n", encoding="utf-8")
    aws.chmod(0o755)
    said = desk.deploy().stdout
    assert "aws ssm put-parameter --region eu-west-1 --type SecureString" in said
    assert '--name /opencrab/main/OPENAI_API_KEY --value "$OPENAI_API_KEY"' in said


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
    assert "is there already" in refused.stderr
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


def test_what_sam_saved_is_used_again_and_what_is_set_is_added(desk: Desk) -> None:
    saved = '[main.deploy.parameters]\nstack_name = "蟹"\nregion = "ap-northeast-1"\n'
    saved += 'parameter_overrides = "Stage=\\"main\\" AlarmMail=\\"\\""\n'
    (desk.checkout / "samconfig.toml").write_text(saved, encoding="utf-8")
    (desk.folder / "bin" / "stack").touch()
    assert desk.deploy().returncode == 0
    assert desk.sam("deploy")[-1][1:] == [
        *("--config-env", "main", "--no-fail-on-empty-changeset", "--no-confirm-changeset"),
    ]
    assert desk.sam("list")[-1][2:4] == ["--stack-name", "蟹"]
    assert desk.deploy("--set", "AlarmMail=me@example.com").returncode == 0
    told = desk.sam("deploy")[-1]
    assert told[-3:] == ["--parameter-overrides", "Stage=main", "AlarmMail=me@example.com"]


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
    (desk.checkout / "samconfig.toml").write_text("[", encoding="utf-8")


def _trouble(desk: Desk) -> None:
    (desk.folder / "bin" / "trouble").write_text("ExpiredToken: it is over", encoding="utf-8")


@pytest.mark.parametrize(
    ("args", "spoil", "message", "cure"),
    [
        ([], _forget("AWS_ACCESS_KEY_ID"), "there are no AWS credentials", "aws configure"),
        ([], _forget("AWS_DEFAULT_REGION"), "no AWS region", "AWS_REGION"),
        ([], lambda desk: desk.environ.update(AWS_PROFILE="nobody"), "nobody", "AWS_PROFILE"),
        ([], _spoil, "samconfig.toml cannot be read", "correct it"),
        ([], _trouble, "ExpiredToken: it is over", "credentials"),
        ([], lambda desk: desk.environ.update(OPENCRAB_OWNER_KEY="蟹"), "too weak", "random"),
        (["--stage", "Prod"], _forget(), "'Prod' cannot name a stage", "a-z"),
        (["--stage", "a" * 17], _forget(), "cannot name a stage", "a-z"),
        (["--set", "AlarmMail"], _forget(), "'AlarmMail' sets nothing", "NAME=VALUE"),
        (["--set", "Stage=x"], _forget(), "sets nothing", "--stage"),
        (["--set", "Alarm=x"], _forget(), "no parameter 'Alarm'", "AlarmMail, Stage"),
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


def test_a_person_is_guided_the_first_time(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in desk.environ.items():
        monkeypatch.setenv(name, value)
    wish = Wish("main", {}, check=False, new_owner_key=False, keys=desk.key.parent)
    assert Deployment(wish, desk.checkout, desk.environ).run(interactive=True) == 0
    first = desk.sam("deploy")[-1]
    assert "--guided" in first
    assert content_hash(desk.key.read_bytes().strip()) in capsys.readouterr().out
    assert Deployment(wish, desk.checkout, desk.environ).run(interactive=True) == 0
    later = desk.sam("deploy")[-1]
    assert not {"--guided", "--no-confirm-changeset"} & set(later)


def test_what_sam_cannot_do_fails_here_too(desk: Desk) -> None:
    failing = SAM.replace("    stack.touch()", "    sys.exit(3)")
    (desk.folder / "bin" / "sam").write_text(failing, encoding="utf-8")
    ended = desk.deploy()
    assert ended.returncode == 3
    assert "is deployed" not in ended.stdout
