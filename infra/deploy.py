"""Deploys OpenCrab with SAM: looks first, makes the owner's key once, then says what comes next.

`make deploy` runs it twice: with --check before the build, so that what is missing is said at once,
and without it afterwards. The key stays on this computer; AWS gets its hash. What a deployed stack
was told it keeps itself: SAM is told only what changes, and reads nothing that it saved.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from infra.advice import advise, check_id_lists
from infra.owner_key import OwnerKey, checked_owner_key, make_owner_key
from infra.page import clear_page, describe_page, publish_page
from infra.place import Installation, Place, Unready
from infra.settings_file import (
    note_of_settings_file,
    settings_file_to_upload,
    upload_settings_file,
)
from infra.upgrade import upgrade_data

ROOT = Path(__file__).resolve().parent.parent
BUILT = Path(".aws-sam") / "build" / "template.yaml"
STAGE = re.compile(r"[a-z][a-z0-9]{0,15}")
# SAM's configuration gives these a meaning of their own.
RESERVED = frozenset({"default", "global"})
# No stage may hold a dash, so nothing was ever saved under this name.
UNSAVED = "not-saved"
CAPABILITIES = ("CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND")

RELEASE = "Release"
STARTS_FASTER = frozenset({"SnapStart", "ProvisionedConcurrency"})
"""With one of these functions have versions, which only a change publishes."""

_FIXED_QUEUE = re.compile(r"/opencrab-([a-z][a-z0-9]{0,15})-turns\.fifo$")
_OWN_OPTIONS = {"Stage": "--stage", "OwnerKeyHash": "--new-owner-key"}
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9]*)=(.*)", re.DOTALL)


@dataclass(frozen=True)
class Wish:
    """What the operator asked for."""

    stage: str
    settings: Mapping[str, str]
    check: bool
    new_owner_key: bool
    keys: Path
    config: str = ""
    release: str = ""


class Deployment:
    """One run: the folder of the checkout, and the environment of the operator."""

    def __init__(self, wish: Wish, folder: Path, environ: Mapping[str, str]) -> None:
        self.wish = wish
        self.folder = folder
        self.environ = environ
        self.installation = Installation(wish.stage, wish.keys, environ)

    def run(self, *, interactive: bool) -> int:
        """Look, and unless only that was asked for, deploy; the exit code."""
        place = self.installation.place()
        sam = self.sam()
        self.check_settings()
        settings = settings_file_to_upload(self.wish.stage, self.wish.config, self.environ)
        if self.wish.check:
            return _say(*note_of_settings_file(self.wish.stage, self.wish.config, settings))
        if not (self.folder / BUILT).is_file():
            raise Unready("nothing is built", "run `make deploy`, which builds first")
        account = self.installation.account(place)
        outputs = self.outputs(sam, place)
        self.check_stage(place, outputs or {})
        fresh = outputs is None
        key = self.owner_key(self.installation.key_path(place, account), fresh=fresh)
        _say(f"stack {place.stack} in account {account}, region {place.region}")
        clear_page(place, outputs or {}, self.wish.settings)
        options = self.options(place, key, outputs or {}, fresh=fresh, interactive=interactive)
        code = self.call(sam, "deploy", *options).returncode
        if code == 0:
            place, key = self.settled(place, account, key)
            outputs = self.outputs(sam, place)
            if outputs is None:
                raise Unready("nothing was deployed", "run `make deploy` again and say y")
            self.check_stage(place, outputs)
            said = upload_settings_file(place, outputs, settings)
            self.say_next(place, outputs, key, self.installation.key_path(place, account), said)
            publish_page(place, outputs)
            _say(*upgrade_data(place, self.wish.stage))
        elif fresh:
            again = shlex.join([sam, "delete", *place.options])
            _say("", "before the next attempt, remove what a failed first one left:", f"  {again}")
        return code

    def sam(self) -> str:
        """The SAM command, ours or the operator's own."""
        path = os.pathsep.join([str(Path(sys.executable).parent), self.environ.get("PATH", "")])
        found = shutil.which("sam", path=path)
        if found is None:
            raise Unready("the `sam` command is missing", "run `make build`, which installs it")
        return found

    def check_settings(self) -> None:
        """See that the template has what is to be set; raises Unready, naming the first other."""
        if not self.wish.settings:
            return
        check_id_lists(self.wish.settings)
        text = (self.folder / "template.yaml").read_text(encoding="utf-8")
        section = re.search(r"^Parameters:\n((?:[ #].*\n|\n)*)", text, re.M)
        known = re.findall(r"^  (\w+):", section[1] if section else "", re.M)
        for name in self.wish.settings:
            if name not in known:
                raise Unready(
                    f"the template has no parameter {name!r}",
                    f"choose from {', '.join(sorted(known))}; "
                    "docs/reference/stack-parameters.md explains them",
                )

    def outputs(self, sam: str, place: Place) -> dict[str, str] | None:
        """What the stack says of itself; None where there is no such stack yet.

        Ours always has outputs: one that has none failed in its first deployment, or before it.
        """
        asked = ("list", "stack-outputs", *place.options, "--output", "json")
        answer = self.call(sam, *asked, heard=True)
        if answer.returncode == 0:
            return {each["OutputKey"]: each["OutputValue"] for each in json.loads(answer.stdout)}
        said = " ".join((answer.stderr + answer.stdout).split())
        if "does not exist on Cloudformation" in said or "Outputs do not exist" in said:
            return None
        raise Unready(
            f"AWS does not say whether the stack {place.stack!r} exists: {said}",
            "see that the credentials are valid and may use CloudFormation; "
            "then run `make deploy` again",
        )

    def check_stage(self, place: Place, outputs: Mapping[str, str]) -> None:
        """See that the stack is of this stage: SAM lets people type another."""
        # Stacks of releases before 0.2.0 tell their stage by the name of a queue only.
        queue = _FIXED_QUEUE.search(outputs.get("TurnsQueueUrl", ""))
        stage = outputs.get("Stage") or (queue[1] if queue else self.wish.stage)
        if stage != self.wish.stage:
            raise Unready(
                f"the stack {place.stack!r} is not of the stage {self.wish.stage!r}, "
                f"but of {stage!r}",
                "name its stage with --stage; if it is new and should have another, remove it "
                "(docs/how-to/delete-a-deployment.md) and press Enter when SAM asks for Stage",
            )

    def owner_key(self, path: Path, *, fresh: bool) -> OwnerKey | None:
        """The key to deploy: the operator's, the one kept here, or for a new stack a new one.

        None leaves a stack's key as it is: another computer must not replace it unasked.
        """
        if self.wish.new_owner_key and path.exists():
            raise Unready(
                f"the file {path} already exists",
                "move it to another folder first; it is the only copy of that key",
            )
        if not (fresh or self.wish.new_owner_key):
            return None
        given = self.environ.get("OPENCRAB_OWNER_KEY")
        if given:
            return OwnerKey(checked_owner_key(given, "OPENCRAB_OWNER_KEY"), None)
        if path.exists():
            path.chmod(0o600)
            kept = path.read_text(encoding="utf-8").strip()
            return OwnerKey(checked_owner_key(kept, str(path)), path)
        return OwnerKey(make_owner_key(path), path)

    def options(
        self,
        place: Place,
        key: OwnerKey | None,
        outputs: Mapping[str, str],
        *,
        fresh: bool,
        interactive: bool,
    ) -> list[str]:
        """The arguments of `sam deploy`. A stack keeps every parameter that is not among them."""
        options = [*place.options, "--resolve-s3", "--s3-prefix", place.stack]
        options += ["--capabilities", *CAPABILITIES, "--no-fail-on-empty-changeset"]
        if fresh and interactive:
            self.installation.begin()
            options += ["--guided", "--config-env", self.wish.stage]
            options += ["--config-file", str(self.installation.memory)]
        else:
            asked = interactive and place.saved.get("confirm_changeset")
            options += ["--config-env", UNSAVED]
            options.append("--confirm-changeset" if asked else "--no-confirm-changeset")
        changed = place.remembered if fresh else {}
        changed |= self.wish.settings
        if RELEASE in outputs or STARTS_FASTER.intersection(changed):
            changed = {RELEASE: self.wish.release, **changed}
        if key is not None:
            changed |= {"Stage": self.wish.stage, "OwnerKeyHash": key.digest}
        if changed:
            options += ["--parameter-overrides"]
            options += [f"{name}={shlex.quote(value)}" for name, value in changed.items()]
        return options

    def settled(
        self, place: Place, account: str, key: OwnerKey | None
    ) -> tuple[Place, OwnerKey | None]:
        """Where it went: SAM lets people type another stack and region than it offers."""
        saved = self.installation.saved()
        stack, region = saved.get("stack_name", place.stack), saved.get("region", place.region)
        place = replace(place, stack=str(stack), region=str(region), saved=saved)
        path = self.installation.key_path(place, account)
        if key is not None and key.path not in {None, path} and not path.exists():
            key = replace(key, path=key.path.rename(path))
        return place, key

    def call(
        self, sam: str, *arguments: str, heard: bool = False
    ) -> "subprocess.CompletedProcess[str]":
        """Run SAM here; `heard` keeps what it says."""
        return subprocess.run(  # noqa: S603 - the operator's own sam, and our own arguments
            [sam, *arguments],
            cwd=self.folder,
            env={"SAM_CLI_TELEMETRY": "0", **self.environ},
            text=True,
            capture_output=heard,
            check=False,
        )

    def say_next(
        self,
        place: Place,
        outputs: Mapping[str, str],
        key: OwnerKey | None,
        path: Path,
        settings: str,
    ) -> None:
        """The address, and what to do before the first question."""
        stage, url = self.wish.stage, outputs.get("ApiUrl", "(see the stack's outputs)")
        path = (key and key.path) or path
        where = "OPENCRAB_OWNER_KEY" if key is not None and key.path is None else str(path)
        if key is None and not path.exists():
            where = "not on this computer, and unchanged"
        _say("", f"OpenCrab is deployed: {url}", f"  owner's key  {where}")
        if settings:
            _say(f"  settings     {settings}")
        if "WebSocketUrl" in outputs:
            _say(f"  live         {outputs['WebSocketUrl']}")
        _say(*describe_page(outputs), *advise(place, outputs))
        _say("", "next")
        self.say_model_key(place, outputs)
        read = (
            f"OPENCRAB_KEY=$(cat {shlex.quote(str(path))})" if path.exists() else "OPENCRAB_KEY=…"
        )
        _say(
            "  2. check it, after `source .venv/bin/activate`",
            f"       export OPENCRAB_URL={url} {read}",
            "       opencrab doctor",
            "  3. make an agent and talk to it",
            "       opencrab agents create",
            "       opencrab chat",
        )
        if "DiscordInteractionsUrl" in outputs:
            _say(
                "  4. let Discord know it, as docs/how-to/set-up-a-discord-bot.md says",
                f"       Interactions Endpoint URL  {outputs['DiscordInteractionsUrl']}",
                f"       the bot's token  {_token_place(stage, outputs)}",
                "       opencrab admin discord register",
            )

    def say_model_key(self, place: Place, outputs: Mapping[str, str]) -> None:
        """Where the key of the stack's default provider is to be stored, if that needs one."""
        provider = outputs.get("DefaultProvider", "openai")
        variable = _key_variable(provider)
        if variable is None:
            _say(f"  1. no key is needed: the default provider is {provider!r}")
            return
        if "SecretArn" in outputs:
            _say(
                f"  1. store the key of the provider {provider!r} in Secrets Manager, once",
                f"       secret {outputs['SecretArn']}, field {variable}",
            )
            return
        name = f"/opencrab/{self.wish.stage}/{variable}"
        _say(f"  1. store the key of the provider {provider!r} as a SecureString, once")
        if shutil.which("aws", path=self.environ.get("PATH", "")):
            where = shlex.join(place.where)
            _say(
                "       (run this, paste the key and press Enter; nothing is shown)",
                f'       read -rs {variable} && printf %s "${variable}" \\',
                f"         | aws ssm put-parameter {where} \\",
                f"         --type SecureString --name {name} --value file:///dev/stdin",
            )
        else:
            _say(
                "       in the AWS console: Systems Manager, Parameter Store, Create parameter;",
                f"       region {place.region}, name {name}, type SecureString",
            )


def main(arguments: Sequence[str], environ: Mapping[str, str], folder: Path = ROOT) -> int:
    """Deploy, or say what is missing; the exit code."""
    try:
        wish = _wish(arguments, environ.get("CONFIG", ""), datetime.now(UTC))  # noqa: TID251 - no clock of ours here
        return Deployment(wish, folder, environ).run(interactive=sys.stdin.isatty())
    except Unready as unready:
        sys.stderr.write(f"deploy: {unready}\n  → {unready.cure}\n")
        return 1


def _wish(arguments: Sequence[str], config: str, now: datetime) -> Wish:
    parser = argparse.ArgumentParser(prog="make deploy", description="Deploy OpenCrab to AWS.")
    parser.add_argument("--stage", default="main", help="name of the installation (main)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the stack"
    )
    parser.add_argument(
        "--check", action="store_true", help="only check the prerequisites, do not deploy"
    )
    parser.add_argument(
        "--new-owner-key", action="store_true", help="replace the owner's key of a deployed stack"
    )
    parser.add_argument(
        "--keys",
        type=Path,
        default=Path.home() / ".opencrab",
        help="folder of the owners' keys and of what SAM saves (~/.opencrab)",
    )
    parser.add_argument(
        "--config", default=None, metavar="FILE", help="settings file to upload, or none"
    )
    given = parser.parse_args(arguments)
    if not STAGE.fullmatch(given.stage) or given.stage in RESERVED:
        raise Unready(
            f"{given.stage!r} is not a valid stage name",
            "use 1 to 16 characters of a-z and 0-9, beginning with a letter, such as main; "
            "default and global are reserved by SAM",
        )
    settings = {}
    for text in given.set:
        setting = _SETTING.fullmatch(text)
        if setting is not None and setting[1] in _OWN_OPTIONS:
            raise Unready(
                f"--set cannot change the parameter {setting[1]!r}",
                f"use {_OWN_OPTIONS[setting[1]]} instead",
            )
        if setting is None:
            raise Unready(
                f"--set {text!r} is not of the form NAME=VALUE",
                "write NAME=VALUE with the name of a parameter",
            )
        settings[setting[1]] = setting[2]
    keys, config = given.keys.absolute(), given.config or config
    return Wish(
        given.stage, settings, given.check, given.new_owner_key, keys, config, f"{now:%Y%m%d%H%M%S}"
    )


def _key_variable(provider: str) -> str | None:
    """The name under which a provider's key is stored; None for one that needs none."""
    text = (ROOT / "config" / "default.toml").read_text(encoding="utf-8")
    known = tomllib.loads(text)["llm"]["providers"].get(provider, {})
    found = re.fullmatch(r"\$\{(\w+)\}", known.get("api_key", ""))
    return found[1] if found else None


def _token_place(stage: str, outputs: Mapping[str, str]) -> str:
    if "SecretArn" in outputs:
        return f"field DISCORD_TOKEN of the secret {outputs['SecretArn']}"
    return f"/opencrab/{stage}/DISCORD_TOKEN, a SecureString of Systems Manager"


def _say(*lines: str) -> int:
    """Print the lines; the exit code of a run that ends with them."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))  # noqa: TID251 - handed on, to SAM above all
