"""AWS credentials for Bedrock: found as AWS's own tools find them, signed as botocore signs."""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from opencrab.adapters import aws_client
from opencrab.adapters.providers.catalogue.configuration import ModelsSettings, ProviderSettings
from opencrab.adapters.providers.catalogue.connection import missing_catalogue_provider_setting
from opencrab.adapters.providers.catalogue.merge import provider_routing
from opencrab.bootstrap.bedrock import (
    AwsAccount,
    aws_account,
    local_aws_profiles,
    models_signed_for_aws,
    sign_bedrock_request,
)
from opencrab.domain.errors import Unavailable

HOST = "https://bedrock-runtime.eu-west-1.amazonaws.com"
URL = f"{HOST}/model/us.amazon.nova-2-lite-v1%3A0/converse-stream"
BEDROCK = ProviderSettings("bedrock", "bedrock", HOST, default_model="m")
KNOWN = ModelsSettings(default="openai:gpt-4o").with_provider(BEDROCK)
KNOWN = KNOWN.with_provider(ProviderSettings("openai", "openai"))


@pytest.fixture
def _process_credentials(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "t0ken/+=")
    aws_client._session.cache_clear()
    yield
    aws_client._session.cache_clear()


def _botocores(method: str, url: str, body: bytes, moment: str) -> str:
    request = AWSRequest(method=method, url=url, data=body)
    request.context["timestamp"] = moment
    request.headers["X-Amz-Date"] = moment
    request.headers["X-Amz-Security-Token"] = "t0ken/+="
    known = Credentials("AKIA", "secret", "t0ken/+=")
    auth = botocore.auth.SigV4Auth(known, "bedrock", "eu-west-1")
    told = auth.string_to_sign(request, auth.canonical_request(request))
    names = auth.signed_headers(auth.headers_to_sign(request))
    return (
        f"AWS4-HMAC-SHA256 Credential={auth.scope(request)}, SignedHeaders={names}, "
        f"Signature={auth.signature(told, request)}"
    )


@pytest.mark.usefixtures("_process_credentials")
@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        ("POST", URL, '{"蟹": 1}'.encode()),
        ("POST", f"{HOST}/model/arn%3Aaws%3Abedrock%3A%2Fabc/invoke", b"{}"),
        ("GET", "https://bedrock.eu-west-1.amazonaws.com/foundation-models", b""),
    ],
)
def test_a_request_is_signed_as_botocore_signs_it(method: str, url: str, body: bytes) -> None:
    headers = sign_bedrock_request(method, url, body, "us-west-2")
    assert headers["authorization"] == _botocores(method, url, body, headers["x-amz-date"])
    assert headers["x-amz-security-token"] == "t0ken/+="
    assert "host" not in headers
    signed = datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    assert abs((datetime.now(UTC) - signed).total_seconds()) < 3600  # noqa: TID251


@pytest.mark.usefixtures("_process_credentials")
def test_an_address_without_a_region_takes_the_machines() -> None:
    headers = sign_bedrock_request(
        "POST", "https://vpce-1.amazonaws.com/model/m/converse", b"", "eu-west-3"
    )
    assert "/eu-west-3/bedrock/aws4_request" in headers["authorization"]


@pytest.mark.usefixtures("_process_credentials")
@pytest.mark.parametrize(
    "host",
    ["evil.example", "amazonaws.com.evil.example", "evilamazonaws.com", "x@evil.example"],
)
def test_no_signature_goes_to_a_host_that_is_not_awss(host: str) -> None:
    with pytest.raises(Unavailable, match="no address of AWS"):
        sign_bedrock_request("POST", f"https://{host}/model/m/converse", b"{}", "us-east-1")
    local = sign_bedrock_request("POST", "http://127.0.0.1:9/model/m/converse", b"{}", "us-east-1")
    assert "Authorization" in {name.title() for name in local}


def test_a_profile_that_is_not_there_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "蟹-nobody")
    aws_client._session.cache_clear()
    with pytest.raises(Unavailable) as caught:
        sign_bedrock_request("POST", URL, hashlib.sha256(b"").digest(), "eu-west-1")
    aws_client._session.cache_clear()
    assert "AWS credentials: ProfileNotFound" in caught.value.message
    assert "AWS_PROFILE" in (caught.value.cure or "")


CONFIG = "[default]\nregion = eu-west-1\n[profile work]\nregion=ap-northeast-1\n[profile bare]\n"


@pytest.mark.parametrize(
    ("environment", "region", "named"),
    [
        ({}, "eu-west-1", False),
        ({"AWS_PROFILE": "work"}, "ap-northeast-1", True),
        ({"AWS_PROFILE": "bare"}, "", True),
        ({"AWS_PROFILE": "gone"}, "", True),
        ({"AWS_REGION": "us-east-1", "AWS_PROFILE": "work"}, "us-east-1", True),
        ({"AWS_DEFAULT_REGION": "us-east-2"}, "us-east-2", False),
        ({"AWS_ACCESS_KEY_ID": "AKIA"}, "eu-west-1", True),
    ],
)
def test_region_and_credentials_are_those_of_awss_own_tools(
    tmp_path: Path,
    environment: dict[str, str],
    region: str,
    named: bool,  # noqa: FBT001
) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text(CONFIG, encoding="utf-8")
    account = aws_account(environment, tmp_path)
    assert (account.region, account.is_named) == (region, named)
    assert account.variable("AWS_REGION") == (region or None)
    assert account.variable("OPENAI_API_KEY") is None


@pytest.mark.parametrize("written", ["\x00[", "region = x\n[", "[default]\nregion"])
def test_a_broken_file_of_profiles_names_no_region(tmp_path: Path, written: str) -> None:
    file = tmp_path / "config"
    file.write_text(written, encoding="utf-8")
    assert aws_account({"AWS_CONFIG_FILE": str(file)}, tmp_path).region == ""
    assert aws_account({"AWS_CONFIG_FILE": str(tmp_path / "gone")}, tmp_path).region == ""


@pytest.mark.parametrize(("named", "default"), [(True, "bedrock:m"), (False, "openai:gpt-4o")])
def test_bedrock_takes_the_place_of_a_default_only_if_credentials_are_named(
    named: bool,  # noqa: FBT001
    default: str,
) -> None:
    account = AwsAccount("eu-west-1", is_named=named)
    known = models_signed_for_aws(KNOWN, account, by_choice=True)
    assert missing_catalogue_provider_setting(known.providers["bedrock"]) == ""
    assert provider_routing(known).default == default
    on_aws = models_signed_for_aws(KNOWN, account, by_choice=False)
    assert provider_routing(on_aws).default == "openai:gpt-4o"


def test_a_key_of_another_provider_goes_before_aws_credentials() -> None:
    account = AwsAccount("eu-west-1", is_named=True)
    known = models_signed_for_aws(KNOWN, account, by_choice=True)
    keyed = ProviderSettings("deepseek", "openai", "https://d", api_key="k", default_model="v4")
    assert provider_routing(known.with_provider(keyed)).default == "deepseek:v4"


def test_a_key_is_used_instead_of_a_signature() -> None:
    account = AwsAccount("eu-west-1", key="bedrock-api-key")
    provider = models_signed_for_aws(KNOWN, account, by_choice=True).providers["bedrock"]
    assert (provider.api_key, provider.sign) == ("bedrock-api-key", None)
    assert "bedrock-api-key" not in repr(account)


def test_without_credentials_it_cannot_be_used() -> None:
    assert missing_catalogue_provider_setting(BEDROCK) == "it has no AWS credentials"


def test_profiles_are_found_in_both_files_and_one_that_is_named_is_alone(tmp_path: Path) -> None:
    assert local_aws_profiles({}, tmp_path) == ()
    folder = tmp_path / ".aws"
    folder.mkdir()
    config = "[profile work]\nregion = eu-west-1\n[sso-session corp]\nsso_region = eu-west-1\n"
    (folder / "config").write_text(config)
    (folder / "credentials").write_text("[home]\n[default]\n")
    assert local_aws_profiles({}, tmp_path) == ("default", "home", "work")
    assert local_aws_profiles({"AWS_PROFILE": "work"}, tmp_path) == ("work",)
    (folder / "config").write_bytes(b"\xff no profiles")
    assert local_aws_profiles({}, tmp_path) == ("default", "home")


def test_the_profile_of_a_provider_signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = "[work]\naws_access_key_id = AKIAWORK\naws_secret_access_key = s\n"
    (tmp_path / "credentials").write_text(keys)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    headers = sign_bedrock_request("POST", "http://127.0.0.1:1/x", b"", "eu-west-1", "work")
    named = {name.lower(): value for name, value in headers.items()}
    assert "AKIAWORK/" in named["authorization"]
