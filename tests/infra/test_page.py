"""The dashboard's files in its bucket: those of this checkout, served as the local server does."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import botocore.session
import pytest
from moto import mock_aws

from infra import page
from infra.deploy import main
from infra.place import Place, Unready
from opencrab.gateways.rest.page import page_content
from opencrab.gateways.rest.page.page_files import browser_page_response
from tests.infra.desk import Desk

REGION = "eu-west-1"
BUCKET = "page-bucket"
PLACE = Place("opencrab-main", REGION, None, {})


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """S3 with the bucket of the stack, empty."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        client = botocore.session.Session().create_client("s3", region_name=REGION)
        client.create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION}
        )
        yield client


def keys(s3: Any) -> set[str]:
    """What the bucket holds."""
    return {each["Key"] for each in s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])}


def answered(path: str, language: str = "en") -> Any:
    """What the local server answers to a browser."""
    headers = [(b"accept-language", language.encode())]
    return browser_page_response(
        {"type": "http", "method": "GET", "path": path, "headers": headers}
    )


def test_the_bucket_holds_what_the_local_server_answers(s3: Any) -> None:
    page.upload_page(PLACE, BUCKET)
    paths = {f"/{key}": key for key in keys(s3) if key.startswith("page/")}
    assert len(paths) == len(page_content.page_files()) - 1
    asked = [(path, "en", key) for path, key in paths.items()]
    asked += [("/", language, f"index.{language}.html") for language in page_content.LANGUAGES]
    assert {key for _, _, key in asked} == keys(s3)
    for path, language, key in asked:
        stored, sent = s3.get_object(Bucket=BUCKET, Key=key), answered(path, language)
        assert stored["Body"].read() == sent.body
        assert stored["ContentType"] == sent.headers["content-type"]
        assert stored["CacheControl"] == sent.headers["cache-control"]


def test_what_is_of_another_version_is_removed_and_what_is_there_is_not_sent_again(s3: Any) -> None:
    page.upload_page(PLACE, BUCKET)
    before = keys(s3)
    kept = next(key for key in sorted(before) if key.endswith("main.js"))
    s3.put_object(Bucket=BUCKET, Key="page/0123456789abcdef/main.js", Body=b"old")
    s3.put_object(Bucket=BUCKET, Key=kept, Body=b"there")
    s3.put_object(Bucket=BUCKET, Key="index.ja.html", Body=b"old")
    page.upload_page(PLACE, BUCKET)
    assert keys(s3) == before
    assert s3.get_object(Bucket=BUCKET, Key=kept)["Body"].read() == b"there"
    assert s3.get_object(Bucket=BUCKET, Key="index.ja.html")["Body"].read() != b"old"
    page.empty_page(PLACE, BUCKET)
    assert keys(s3) == set()
    page.empty_page(PLACE, BUCKET)


def test_the_page_comes_after_all_of_its_files() -> None:
    order = list(page.page_objects())
    assert order[-2:] == ["index.en.html", "index.ja.html"]
    assert all(key.startswith("page/") for key in order[:-2])


@pytest.mark.parametrize("write", [page.upload_page, page.empty_page])
def test_a_refusal_of_aws_is_said_with_its_cure(s3: Any, write: Callable[..., None]) -> None:
    assert keys(s3) == set()
    with pytest.raises(Unready, match="no-bucket") as refused:
        write(PLACE, "no-bucket")
    assert "make deploy" in refused.value.cure


def test_its_files_are_known_without_any_package() -> None:
    code = f"import runpy; print(runpy.run_path({str(page.CONTENT)!r})['page_version']())"
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == page_content.page_version()


def deploy(desk: Desk, *settings: str) -> int:
    """`make deploy` in this process, where moto is S3."""
    chosen = [word for each in settings for word in ("--set", each)]
    given = {**desk.environ, "AWS_REGION": REGION}
    return main([*chosen, "--keys", str(desk.home)], given, desk.checkout)


def test_make_deploy_uploads_the_page_says_where_it_is_and_takes_it_away(
    desk: Desk, s3: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The desk's own heartbeat function upgrades the data: moto has none.
    monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", desk.environ["AWS_ENDPOINT_URL_LAMBDA"])
    assert deploy(desk) == 0
    assert "dashboard" not in capsys.readouterr().out
    assert keys(s3) == set()
    assert deploy(desk, "WebDashboard=on") == 0
    assert "  dashboard    https://d123.cloudfront.net\n" in capsys.readouterr().out
    assert "index.ja.html" in keys(s3)
    s3.delete_object(Bucket=BUCKET, Key="index.ja.html")
    assert deploy(desk, "WebDashboardDomain=crab.example.org") == 0
    said = capsys.readouterr().out
    assert "  dashboard    https://crab.example.org\n" in said
    assert "(make its name a CNAME for d123.cloudfront.net)\n" in said
    assert "index.ja.html" in keys(s3)
    assert deploy(desk, "WebDashboard=off") == 0
    assert keys(s3) == set()


def test_make_deploy_fails_if_the_page_cannot_be_uploaded(
    desk: Desk, s3: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    s3.delete_bucket(Bucket=BUCKET)
    assert deploy(desk, "WebDashboard=on") == 1
    said = capsys.readouterr()
    assert "OpenCrab is deployed" in said.out
    assert BUCKET in said.err
