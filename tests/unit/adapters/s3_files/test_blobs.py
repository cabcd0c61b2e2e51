"""Large journal bodies in a bucket: under their own hash, checked whenever they are read."""

from contextlib import suppress

import pytest

from opencrab.adapters.s3_files import S3Blobs
from opencrab.domain.errors import NotFound, Unavailable
from opencrab.domain.identifier import content_hash
from tests.unit.adapters.s3_files.trouble import Client, World

BODY = "とても長い答え 🦀".encode() * 100
DIGEST = content_hash(BODY)
KEY = f"blobs/{DIGEST[:2]}/{DIGEST[2:]}"


def test_a_blob_lies_under_its_hash_and_says_so(s3: World) -> None:
    S3Blobs(s3.s3, s3.bucket).put(DIGEST, BODY)
    head = s3.s3.head_object(Bucket=s3.bucket, Key=KEY)
    assert head["Metadata"] == {"sha256": DIGEST}


@pytest.mark.parametrize("damage", [b"", b"other"])
def test_a_damaged_blob_is_never_answered_and_can_be_put_again(damage: bytes, s3: World) -> None:
    blobs = S3Blobs(s3.s3, s3.bucket)
    s3.s3.put_object(Bucket=s3.bucket, Key=KEY, Body=damage, Metadata={"sha256": DIGEST})
    with pytest.raises(NotFound, match="missing or damaged"):
        blobs.get(DIGEST)
    blobs.put(DIGEST, BODY)
    assert blobs.get(DIGEST) == BODY


def test_a_blob_put_by_hand_is_one_if_it_is_what_its_name_says(s3: World) -> None:
    s3.s3.put_object(Bucket=s3.bucket, Key=KEY, Body=BODY)
    assert S3Blobs(s3.s3, s3.bucket).get(DIGEST) == BODY


def test_putting_again_renews_the_age_by_which_the_bucket_removes(s3: World) -> None:
    blobs = S3Blobs(s3.s3, s3.bucket)
    blobs.put(DIGEST, BODY)
    before = s3.s3.head_object(Bucket=s3.bucket, Key=KEY)["LastModified"]
    s3.clock.advance(90 * 24 * 3_600)
    blobs.put(DIGEST, BODY)
    after = s3.s3.head_object(Bucket=s3.bucket, Key=KEY)["LastModified"]
    assert (after - before).days == 90


@pytest.mark.parametrize("afterwards", [False, True], ids=["before", "after"])
def test_a_put_or_get_that_failed_can_be_repeated(s3: World, *, afterwards: bool) -> None:
    blobs = S3Blobs(Client(s3.s3, s3.trouble), s3.bucket)
    s3.trouble.arm(0, afterwards=afterwards)
    with pytest.raises(Unavailable):
        blobs.put(DIGEST, BODY)
    with suppress(NotFound):
        assert blobs.get(DIGEST) == BODY
    blobs.put(DIGEST, BODY)
    s3.trouble.arm(0, afterwards=afterwards)
    with pytest.raises(Unavailable):
        blobs.get(DIGEST)
    assert blobs.get(DIGEST) == BODY
