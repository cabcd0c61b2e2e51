"""The dashboard's files in the bucket behind CloudFront: those of this checkout, and no others."""

import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from infra.place import Place, Unready

ROOT = Path(__file__).resolve().parent.parent
CONTENT = ROOT / "layers/opencrab/python/opencrab/gateways/rest/page/page_content.py"
_AT_ONCE = 1_000


@dataclass(frozen=True)
class PageObject:
    """What is uploaded under one key."""

    body: bytes
    media_type: str
    caching: str


URL, HOST, BUCKET = "WebDashboardUrl", "WebDashboardHost", "WebDashboardBucket"
"""The stack's outputs, which are there while WebDashboard is on."""


def publish_page(place: Place, outputs: Mapping[str, str]) -> None:
    """Upload the page to the stack's bucket, if it has one."""
    if BUCKET in outputs:
        upload_page(place, outputs[BUCKET])


def clear_page(place: Place, outputs: Mapping[str, str], settings: Mapping[str, str]) -> None:
    """Empty the bucket of a stack that is about to delete it, if the settings say so."""
    if BUCKET in outputs and settings.get("WebDashboard") == "off":
        empty_page(place, outputs[BUCKET])


def describe_page(outputs: Mapping[str, str]) -> list[str]:
    """Return what to say of the page behind CloudFront; nothing without one."""
    if URL not in outputs:
        return []
    lines = [f"  dashboard    {outputs[URL]}"]
    host = outputs.get(HOST, "")
    if not outputs[URL].endswith(f"//{host}"):
        lines.append(f"               (make its name a CNAME for {host})")
    return lines


def upload_page(place: Place, bucket: str) -> None:
    """Upload the page, and remove what is not of it; raises Unready if AWS refuses.

    The page itself comes after its files, and what it replaces is removed last: whoever loads it
    meanwhile finds all files of one version.
    """
    objects = page_objects()
    with _s3(place, bucket) as s3:
        known = _keys(s3, bucket)
        for key, each in objects.items():
            if key in known and key.startswith("page/"):
                continue  # its key contains its version
            s3.put_object(
                Bucket=bucket,
                Key=key,
                Body=each.body,
                ContentType=each.media_type,
                CacheControl=each.caching,
            )
        _remove(s3, bucket, known - set(objects))


def empty_page(place: Place, bucket: str) -> None:
    """Remove everything, because CloudFormation deletes no bucket that holds something."""
    with _s3(place, bucket) as s3:
        _remove(s3, bucket, _keys(s3, bucket))


@cache
def page_objects() -> Mapping[str, PageObject]:
    """Return what the bucket is to hold, in the order in which it is uploaded."""
    content = _content()
    types, version = content.MEDIA_TYPES, content.page_version()
    found = {
        f"page/{version}/{name}": PageObject(body, types[Path(name).suffix], content.FOREVER)
        for name, body in content.page_files().items()
        if name != content.INDEX
    }
    for language in content.LANGUAGES:
        page = content.index_page(language)
        found[f"index.{language}.html"] = PageObject(page, types[".html"], content.EACH_TIME)
    return found


def _content() -> Any:
    """Load the module that knows the files; SAM's environment does not have OpenCrab."""
    spec = importlib.util.spec_from_file_location("page_content", CONTENT)
    if spec is None or spec.loader is None:
        raise ImportError(str(CONTENT))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def _s3(place: Place, bucket: str) -> Iterator[Any]:
    import botocore.session  # type: ignore[import-untyped, unused-ignore] # noqa: PLC0415
    from botocore.exceptions import (  # type: ignore[import-untyped, unused-ignore] # noqa: PLC0415
        BotoCoreError,
        ClientError,
    )

    session = botocore.session.Session(profile=place.profile)
    try:
        with closing(session.create_client("s3", region_name=place.region)) as client:
            yield client
    except (BotoCoreError, ClientError) as error:
        raise Unready(
            f"the dashboard's files cannot be written to the bucket {bucket!r}: {error}",
            "let the credentials list, write and delete objects there, "
            "and run `make deploy` again; the rest is deployed",
        ) from error


def _keys(s3: Any, bucket: str) -> set[str]:
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    return {each["Key"] for page in pages for each in page.get("Contents", [])}


def _remove(s3: Any, bucket: str, keys: set[str]) -> None:
    named = [{"Key": key} for key in sorted(keys)]
    for first in range(0, len(named), _AT_ONCE):
        some = {"Objects": named[first : first + _AT_ONCE], "Quiet": True}
        s3.delete_objects(Bucket=bucket, Delete=some)
