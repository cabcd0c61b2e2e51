"""Where an installation is or will be, and what this computer keeps of it."""

import shlex
import tomllib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class Unready(Exception):
    """Something is missing that only the operator can provide; `cure` says how."""

    def __init__(self, message: str, cure: str) -> None:
        super().__init__(message)
        self.cure = cure


@dataclass(frozen=True)
class Place:
    """Where the stack is or will be; `saved` is what its first deployment was told here."""

    stack: str
    region: str
    profile: str | None
    saved: Mapping[str, Any]

    @property
    def where(self) -> list[str]:
        """What tells a command of AWS where to look."""
        options = ["--region", self.region]
        return [*options, "--profile", self.profile] if self.profile else options

    @property
    def options(self) -> list[str]:
        """What tells SAM which stack is meant."""
        return ["--stack-name", self.stack, *self.where]

    @property
    def remembered(self) -> dict[str, str]:
        """The parameters that were answered, for a stack that its first attempt did not leave."""
        kept = self.saved.get("parameter_overrides", "")
        pairs = kept if isinstance(kept, list) else shlex.split(str(kept))
        named = (str(pair).partition("=") for pair in pairs)
        return {name: value for name, _, value in named if value}


@dataclass(frozen=True)
class Installation:
    """One installation, by its stage, the folder of its key, and the operator's environment."""

    stage: str
    folder: Path
    environ: Mapping[str, str]

    def place(self) -> Place:
        """Where to deploy to; raises Unready without credentials or a region."""
        import botocore.session  # type: ignore[import-untyped, unused-ignore] # noqa: PLC0415
        from botocore.exceptions import (  # type: ignore[import-untyped, unused-ignore] # noqa: PLC0415
            BotoCoreError,
        )

        saved = self.saved()
        profile = self.agreed(saved.get("profile"), "AWS_PROFILE")
        region = self.agreed(saved.get("region"), "AWS_REGION", "AWS_DEFAULT_REGION")
        try:
            session = botocore.session.Session(profile=profile)
            region = region or session.get_config_variable("region")
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
        stack = str(saved.get("stack_name") or f"opencrab-{self.stage}")
        return Place(stack=stack, region=str(region), profile=profile, saved=saved)

    def agreed(self, saved: str | None, *names: str) -> str | None:
        """What was saved, or the first of these that is set; raises Unready if they differ."""
        name = next((each for each in names if self.environ.get(each)), names[0])
        given = self.environ.get(name) or None
        if saved and given and saved != given:
            raise Unready(
                f"{name} is {given!r}, but {self.stage!r} was deployed with {saved!r}",
                f"unset {name}; for another installation choose another --stage, or another "
                f"folder than {str(self.folder)!r} with --keys",
            )
        return saved or given

    def account(self, place: Place) -> str:
        """Whose credentials these are; raises Unready where AWS refuses them."""
        import botocore.session  # noqa: PLC0415
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

        session = botocore.session.Session(profile=place.profile)
        try:
            with closing(session.create_client("sts", region_name=place.region)) as client:
                return str(client.get_caller_identity()["Account"])
        except (BotoCoreError, ClientError) as error:
            raise Unready(
                f"AWS does not say whose credentials these are: {error}",
                "renew them, as with `aws sso login`, and run `make deploy` again",
            ) from error

    @property
    def memory(self) -> Path:
        """Where SAM saves what it was answered; outside the checkout, which stays clean."""
        return self.folder / f"{self.stage}.toml"

    def key_path(self, place: Place, account: str) -> Path:
        """Where the owner's key of this installation lies."""
        return self.folder / f"{self.stage}-{account}-{place.region}.key"

    def saved(self) -> Mapping[str, Any]:
        """What `sam deploy --guided` wrote down for this stage; nothing before the first time."""
        try:
            config = tomllib.loads(self.memory.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise Unready(
                f"{self.memory} cannot be read: {error}", "correct it, or move it away"
            ) from error
        parameters = config.get(self.stage, {}).get("deploy", {}).get("parameters", {})
        return parameters if parameters.get("stack_name") else {}

    def begin(self) -> None:
        """An empty configuration where there is none: SAM saves only into a file that is there."""
        self.memory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.memory.exists():
            self.memory.write_text("version = 0.1\n", encoding="utf-8")
