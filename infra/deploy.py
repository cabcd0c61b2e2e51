#!/usr/bin/env python3
"""Deploys OpenCrab with SAM: looks first, makes the owner's key once, then says what comes next.

`make deploy` runs it twice: with --check before the build, so that what is missing is said at once,
and without it afterwards. The key stays on this computer; AWS gets its hash.
"""

import argparse
import hashlib
import json
import os
import re
import secrets
import shlex
import shutil
import string
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BUILT = Path(".aws-sam") / "build" / "template.yaml"
STAGE = re.compile(r"[a-z][a-z0-9]{0,15}")
CAPABILITIES = ("CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND")

_ALPHABET = string.ascii_letters + string.digits
_KEY_LENGTH = 43
_SHORTEST_KEY = 16
_SENDABLE = re.compile(r"[!-~]+")
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9]*)=(.*)", re.DOTALL)


class Unready(Exception):
    """Something is missing that only the operator can provide; `cure` says how."""

    def __init__(self, message: str, cure: str) -> None:
        super().__init__(message)
        self.cure = cure


@dataclass(frozen=True)
class Wish:
    """What the operator asked for."""

    stage: str
    settings: Mapping[str, str]
    check: bool
    new_owner_key: bool
    keys: Path


@dataclass(frozen=True)
class Place:
    """Where the stack is or will be; `saved` is what samconfig.toml remembers of it."""

    stack: str
    region: str
    profile: str | None
    saved: Mapping[str, Any]


@dataclass(frozen=True)
class OwnerKey:
    """The owner's key; without a path it came from the environment."""

    secret: str
    path: Path | None

    @property
    def digest(self) -> str:
        """What is deployed of it."""
        return hashlib.sha256(self.secret.encode()).hexdigest()


class Deployment:
    """One run: the folder of the checkout, and the environment of the operator."""

    def __init__(self, wish: Wish, folder: Path, environ: Mapping[str, str]) -> None:
        self.wish = wish
        self.folder = folder
        self.environ = environ

    def run(self, *, interactive: bool) -> int:
        """Look, and unless only that was asked for, deploy; the exit code."""
        place = self.place()
        sam = self.sam()
        self.check_settings()
        if self.wish.check:
            return 0
        if not (self.folder / BUILT).is_file():
            raise Unready("nothing is built", "run `make deploy`, which builds first")
        outputs = self.outputs(sam, place)
        key = self.owner_key(fresh=outputs is None)
        guided = outputs is None and interactive and not place.saved
        if guided and key is not None:
            _say(
                "SAM asks for each parameter now; Enter takes what it offers. For OwnerKeyHash it",
                "may offer nothing, and show nothing as you type: paste this there.",
                f"  {key.digest}",
            )
        options = self.options(place, key, guided=guided, interactive=interactive)
        code = self.call(sam, "deploy", *options).returncode
        if code != 0:
            return code
        place = self.place()
        self.say_next(place, self.outputs(sam, place) or {}, key)
        return 0

    def place(self) -> Place:
        """Where to deploy to; raises Unready without credentials or a region."""
        import botocore.session  # type: ignore[import-untyped, unused-ignore] # noqa: PLC0415
        from botocore.exceptions import (  # type: ignore[import-untyped, unused-ignore] # noqa: PLC0415
            BotoCoreError,
        )

        saved = self.saved()
        profile = saved.get("profile") or self.environ.get("AWS_PROFILE") or None
        try:
            session = botocore.session.Session(profile=profile)
            region = saved.get("region") or session.get_config_variable("region")
            known = session.get_credentials() is not None
        except BotoCoreError as error:
            raise Unready(
                f"the AWS credentials cannot be used: {error}",
                "name a profile of yours with AWS_PROFILE, or correct ~/.aws/config",
            ) from error
        if not known:
            raise Unready(
                "there are no AWS credentials",
                "run `aws configure` or `aws sso login`, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID "
                "and AWS_SECRET_ACCESS_KEY",
            )
        if not region:
            raise Unready("no AWS region is chosen", "set AWS_REGION, such as us-east-1")
        stack = str(saved.get("stack_name") or f"opencrab-{self.wish.stage}")
        return Place(stack=stack, region=str(region), profile=profile, saved=saved)

    def saved(self) -> Mapping[str, Any]:
        """What `sam deploy --guided` wrote down for this stage; nothing before the first time."""
        path = self.folder / "samconfig.toml"
        try:
            config = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise Unready(f"samconfig.toml cannot be read: {error}", "correct it") from error
        parameters = config.get(self.wish.stage, {}).get("deploy", {}).get("parameters", {})
        return parameters if parameters.get("stack_name") else {}

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
        text = (self.folder / "template.yaml").read_text(encoding="utf-8")
        section = re.search(r"^Parameters:\n((?:[ #].*\n|\n)*)", text, re.M)
        known = re.findall(r"^  (\w+):", section[1] if section else "", re.M)
        for name in self.wish.settings:
            if name not in known:
                raise Unready(
                    f"the template has no parameter {name!r}",
                    f"choose from {', '.join(sorted(known))}; docs/deploy.md explains them",
                )

    def outputs(self, sam: str, place: Place) -> dict[str, str] | None:
        """What the stack says of itself; None where there is no such stack yet."""
        where = ["--region", place.region, *(["--profile", place.profile] if place.profile else [])]
        asked = ("list", "stack-outputs", "--stack-name", place.stack, "--output", "json", *where)
        answer = self.call(sam, *asked, heard=True)
        if answer.returncode == 0:
            return {each["OutputKey"]: each["OutputValue"] for each in json.loads(answer.stdout)}
        said = " ".join((answer.stderr + answer.stdout).split())
        if "does not exist on Cloudformation" in said:
            return None
        if "Outputs do not exist" in said:
            return {}
        raise Unready(
            f"AWS does not say whether the stack {place.stack!r} exists: {said}",
            "see that the credentials are valid and may use CloudFormation; "
            "then run `make deploy` again",
        )

    def owner_key(self, *, fresh: bool) -> OwnerKey | None:
        """The key to deploy: the operator's, the one kept here, or for a new stack a new one.

        None leaves a stack's key as it is: another computer must not replace it unasked.
        """
        path = self.wish.keys / f"{self.wish.stage}.key"
        if self.wish.new_owner_key and path.exists():
            raise Unready(
                f"{path} is there already", "move it away first; it is the only copy of that key"
            )
        if not (fresh or self.wish.new_owner_key):
            return None
        given = self.environ.get("OPENCRAB_OWNER_KEY")
        if given:
            return OwnerKey(_checked(given, "OPENCRAB_OWNER_KEY"), None)
        if path.exists():
            path.chmod(0o600)
            return OwnerKey(_checked(path.read_text(encoding="utf-8").strip(), str(path)), path)
        return OwnerKey(_kept(path), path)

    def options(
        self, place: Place, key: OwnerKey | None, *, guided: bool, interactive: bool
    ) -> list[str]:
        """The arguments of `sam deploy`: all of them the first time, later those that changed."""
        options = ["--config-env", self.wish.stage, "--no-fail-on-empty-changeset"]
        if not place.saved:
            options += ["--stack-name", place.stack, "--region", place.region, "--resolve-s3"]
            options += ["--capabilities", *CAPABILITIES]
        if guided:
            options.append("--guided")
        elif not interactive:
            options.append("--no-confirm-changeset")
        changed = dict(self.wish.settings)
        if key is not None:
            changed |= {"Stage": self.wish.stage, "OwnerKeyHash": key.digest}
        if changed:
            changed = _remembered(place.saved) | changed
            options += ["--parameter-overrides"]
            options += [f"{name}={shlex.quote(value)}" for name, value in changed.items()]
        return options

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

    def say_next(self, place: Place, outputs: Mapping[str, str], key: OwnerKey | None) -> None:
        """The address, and what to do before the first question."""
        stage, url = self.wish.stage, outputs.get("ApiUrl", "(see the stack's outputs)")
        path = self.wish.keys / f"{stage}.key"
        where = "OPENCRAB_OWNER_KEY" if key is not None and key.path is None else str(path)
        if key is None and not path.exists():
            where = "not on this computer, and unchanged"
        _say("", f"OpenCrab is deployed: {url}", f"  owner's key  {where}", "", "next")
        name = f"/opencrab/{stage}/OPENAI_API_KEY"
        _say("  1. give it a model: store your provider's key, once, as a SecureString")
        if shutil.which("aws", path=self.environ.get("PATH", "")):
            _say(
                f"       aws ssm put-parameter --region {place.region} --type SecureString \\",
                f'         --name {name} --value "$OPENAI_API_KEY"',
            )
        else:
            _say(
                "       in the AWS console: Systems Manager, Parameter Store, Create parameter;",
                f"       region {place.region}, name {name}, type SecureString",
            )
        read = (
            f"OPENCRAB_KEY=$(cat {shlex.quote(str(path))})" if path.exists() else "OPENCRAB_KEY=…"
        )
        _say(
            "  2. check it, from `source .venv/bin/activate`",
            f"       export OPENCRAB_URL={url} {read}",
            "       opencrab doctor",
            "  3. make an agent and talk to it",
            "       opencrab agents create",
            "       opencrab chat",
        )


def main(arguments: Sequence[str], environ: Mapping[str, str], folder: Path = ROOT) -> int:
    """Deploy, or say what is missing; the exit code."""
    try:
        wish = _wish(arguments)
        return Deployment(wish, folder, environ).run(interactive=sys.stdin.isatty())
    except Unready as unready:
        sys.stderr.write(f"deploy: {unready}\n  → {unready.cure}\n")
        return 1


def _wish(arguments: Sequence[str]) -> Wish:
    parser = argparse.ArgumentParser(prog="make deploy", description="Deploy OpenCrab to AWS.")
    parser.add_argument("--stage", default="main", help="name of the installation (main)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the stack"
    )
    parser.add_argument("--check", action="store_true", help="only see that nothing is missing")
    parser.add_argument(
        "--new-owner-key", action="store_true", help="replace the owner's key of a deployed stack"
    )
    parser.add_argument("--keys", type=Path, default=Path.home() / ".opencrab", help="keys' folder")
    given = parser.parse_args(arguments)
    if not STAGE.fullmatch(given.stage):
        raise Unready(
            f"{given.stage!r} cannot name a stage",
            "use 1 to 16 of a-z and 0-9, a letter first, such as main",
        )
    settings = {}
    for text in given.set:
        setting = _SETTING.fullmatch(text)
        if setting is None or setting[1] in {"Stage", "OwnerKeyHash"}:
            raise Unready(
                f"--set {text!r} sets nothing",
                "write NAME=VALUE; the stage has --stage, the owner's key --new-owner-key",
            )
        settings[setting[1]] = setting[2]
    return Wish(given.stage, settings, given.check, given.new_owner_key, given.keys)


def _checked(secret: str, place: str) -> str:
    if len(secret) < _SHORTEST_KEY or not _SENDABLE.fullmatch(secret):
        raise Unready(
            f"the owner's key in {place} is too weak, or cannot be sent in a header",
            f"use at least {_SHORTEST_KEY} random ASCII characters without spaces",
        )
    return secret


def _kept(path: Path) -> str:
    """A new key, written where only this user can read it."""
    secret = "oc_" + "".join(secrets.choice(_ALPHABET) for _ in range(_KEY_LENGTH))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{secret}\n")
    return secret


def _remembered(saved: Mapping[str, Any]) -> dict[str, str]:
    """The parameters that samconfig.toml keeps, which a command line would hide from SAM."""
    kept = saved.get("parameter_overrides", "")
    pairs = kept if isinstance(kept, list) else shlex.split(str(kept))
    named = (str(pair).partition("=") for pair in pairs)
    return {name: value for name, _, value in named if value}


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))  # noqa: TID251 - handed on, to SAM above all
