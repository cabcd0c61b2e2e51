"""AWS credentials for Amazon Bedrock: whose they are, for which region, and signing with them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from opencrab.domain.errors import Unavailable

if TYPE_CHECKING:
    from configparser import ConfigParser

    from opencrab.adapters.providers.catalogue.configuration import ModelsSettings, ProviderSettings

REGION = "AWS_REGION"
_CREDENTIALS = "AWS_SHARED_CREDENTIALS_FILE"
KEY = "AWS_BEARER_TOKEN_BEDROCK"

_NAMED = (
    "AWS_PROFILE",
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_REGION_IN_HOST = re.compile(r"\.([a-z]{2}(?:-[a-z]+)+-[0-9])\.")
_AWS_HOSTS = (".amazonaws.com", ".amazonaws.com.cn")
_LOG_IN = "set AWS_PROFILE or AWS_ACCESS_KEY_ID, or log in again, for example with `aws sso login`"
_NO_BOTOCORE = "its AWS credentials need botocore: pip install 'opencrab[aws]'"


@dataclass(frozen=True)
class AwsAccount:
    """What a machine's environment says of AWS.

    `is_named` says that it names credentials, for example with AWS_PROFILE: then Bedrock may be
    used without being asked for. `key` is a key of Bedrock's own.
    """

    region: str = ""
    is_named: bool = False
    key: str = field(default="", repr=False)

    def variable(self, name: str) -> str | None:
        """Return the value that a variable of the configuration takes if it is not set."""
        return self.region or None if name == REGION else None


def aws_account(environment: Mapping[str, str], home: Path) -> AwsAccount:
    """Read region and credentials' names as AWS's own tools do, without loading them."""
    region = environment.get(REGION) or environment.get("AWS_DEFAULT_REGION")
    return AwsAccount(
        region=region or _region_of_profile(environment, home),
        is_named=any(environment.get(name) for name in _NAMED),
        key=environment.get(KEY, ""),
    )


def local_aws_profiles(environment: Mapping[str, str], home: Path) -> tuple[str, ...]:
    """Return the names of a user's AWS profiles; the one of AWS_PROFILE alone, if it is set."""
    if named := environment.get("AWS_PROFILE"):
        return (named,)
    found: dict[str, None] = {}
    for variable, usual in (("AWS_CONFIG_FILE", "config"), (_CREDENTIALS, "credentials")):
        given = environment.get(variable)
        sections = _aws_file(Path(given).expanduser() if given else home / ".aws" / usual)
        # In `config` other sections, such as those of SSO sessions, have words before their names.
        for name in () if sections is None else sections.sections():
            kind, _, rest = name.rpartition(" ")
            if kind in {"", "profile"}:
                found[rest] = None
    return tuple(sorted(found, key=lambda name: (name != "default", name)))


def models_signed_for_aws(
    known: "ModelsSettings", account: AwsAccount, *, by_choice: bool
) -> "ModelsSettings":
    """Return the settings with AWS credentials for each provider of kind bedrock without a key."""
    providers = {
        name: _sign_provider(each, account, by_choice=by_choice) if each.kind == "bedrock" else each
        for name, each in known.providers.items()
    }
    return replace(known, providers=providers)


def _sign_provider(
    provider: "ProviderSettings", account: AwsAccount, *, by_choice: bool
) -> "ProviderSettings":
    if provider.api_key or account.key:
        return replace(provider, api_key=provider.api_key or account.key)
    if find_spec("botocore") is None:
        return replace(provider, problem=provider.problem or _NO_BOTOCORE)

    def sign(method: str, url: str, body: bytes) -> Mapping[str, str]:
        return sign_bedrock_request(method, url, body, account.region, provider.profile)

    return replace(
        provider,
        sign=sign,
        signs_by_choice=by_choice and (account.is_named or bool(provider.profile)),
    )


def sign_bedrock_request(
    method: str, url: str, body: bytes, region: str, profile: str = ""
) -> dict[str, str]:
    """Return the headers that sign a request with the current AWS credentials, or a profile's.

    The region is that of the URL's host, or else the given one. Raises Unavailable without
    credentials, and for a host that is neither AWS's nor this machine, since a signature of a role
    carries its session token.
    """
    import hashlib
    from urllib.parse import quote, urlsplit

    from opencrab.adapters.aws_client import (
        AWS_ERRORS,
        aws_error_code,
        aws_process_credentials,
    )
    from opencrab.adapters.door.aws import Credentials, Signer
    from opencrab.adapters.providers.wire.address import is_url_of_this_machine
    from opencrab.adapters.system_clock import SystemClock

    parts = urlsplit(url)
    if not ((parts.hostname or "").endswith(_AWS_HOSTS) or is_url_of_this_machine(url)):
        raise Unavailable(
            f"{parts.netloc!r} is no address of AWS: AWS credentials are not sent there",
            cure="set base_url to an address that ends with amazonaws.com, or use a key of its own",
        )
    try:
        now = aws_process_credentials(profile)
    except Unavailable as error:
        raise Unavailable(error.message, cure=_LOG_IN) from error
    except AWS_ERRORS as error:
        why = aws_error_code(error)
        raise Unavailable(f"there are no valid AWS credentials: {why}", cure=_LOG_IN) from error
    found = _REGION_IN_HOST.search(parts.netloc)
    credentials = Credentials(now.access_key, now.secret_key, now.token or "")
    signer = Signer("bedrock", found[1] if found else region, credentials)
    # The path is escaped once more than it is sent, as for all of AWS but S3.
    line = f"{method}\n{quote(parts.path or '/', safe='/~')}\n{parts.query}"
    content = hashlib.sha256(body).hexdigest()
    headers = signer.sign(line, {"host": parts.netloc}, content, SystemClock().now().timestamp())
    return {name: value for name, value in headers.items() if name != "host"}


def _region_of_profile(environment: Mapping[str, str], home: Path) -> str:
    profile = environment.get("AWS_PROFILE") or "default"
    section = profile if profile == "default" else f"profile {profile}"
    given = environment.get("AWS_CONFIG_FILE")
    written = _aws_file(Path(given).expanduser() if given else home / ".aws" / "config")
    return "" if written is None else written.get(section, "region", fallback="")


def _aws_file(path: Path) -> "ConfigParser | None":
    """Read a file of AWS's tools; None if there is none, or if it is none."""
    if not path.is_file():
        return None
    from configparser import ConfigParser, Error

    written = ConfigParser(interpolation=None, strict=False)
    try:
        written.read(path)
    except (Error, OSError, UnicodeDecodeError):
        return None
    return written
