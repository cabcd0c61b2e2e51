"""A workspace in a bucket: its keys, and what somebody else put there or took away."""

import pytest

from opencrab.adapters.s3_files.files import FOLDER_KEPT
from opencrab.domain.errors import Conflict, Invalid, NotFound, TooLarge, Unavailable
from opencrab.domain.identifier import content_hash
from opencrab.ports.workspace.files import ABSENT, FileInfo
from tests.unit.adapters.s3_files.trouble import LARGEST, World, key


@pytest.mark.parametrize(
    ("path", "stored"),
    [
        ("メモ/今日.md", "メモ/今日.md"),
        ("か\u3099に.md", "がに.md"),
        ("cafe\u0301", "café"),
        ("🦀/👍🏽.md", "🦀/👍🏽.md"),
        ("./notes/today.md", "notes/today.md"),
        ("100% a+b&c", "100% a+b&c"),
    ],
)
def test_a_key_is_the_normal_form_of_the_path(path: str, stored: str, s3: World) -> None:
    s3.files.write("mika", path, "海".encode())
    assert list(s3.sizes()) == [key(stored)]
    assert [info.path for info in s3.files.list("mika")] == [stored]


@pytest.mark.parametrize("name", ["海の日記" * 14, "🦀" * 49, "m" * 199])
def test_the_longest_key_fits_into_s3(name: str, s3: World) -> None:
    agent_id = "a" * 64
    path = "/".join([name] * 3)
    path += "/" + "x" * (699 - len(path.encode()))
    written = s3.files.write(agent_id, path, b"x")
    stored = s3.s3.list_objects_v2(Bucket=s3.bucket)["Contents"][0]["Key"]
    assert stored == f"agents/{agent_id}/workspace/{path}"
    assert len(stored.encode()) <= 1_024
    assert s3.files.list(agent_id) == (written,)


def test_a_version_is_etag_and_version_id(s3: World) -> None:
    written = s3.files.write("mika", "a", b"1")
    head = s3.s3.head_object(Bucket=s3.bucket, Key=key("a"))
    assert written.version == f"{head['ETag'].strip(chr(34))}:{head['VersionId']}"
    assert head["Metadata"] == {"sha256": written.sha256}


def test_whether_a_folder_has_files_is_listed_once_in_ten_minutes(s3: World) -> None:
    assert not s3.files.has_files("mika", "海")
    s3.put_by_hand("海/a.md", b"x")
    assert not s3.files.has_files("mika", "海")
    s3.clock.advance(FOLDER_KEPT.total_seconds())
    assert s3.files.has_files("mika", "海")
    s3.files.delete("mika", "海/a.md")
    assert not s3.files.has_files("mika", "海")


@pytest.mark.parametrize("content", ["手で置いた", "put by hand"])
def test_a_file_put_by_hand_is_read_listed_and_guarded(content: str, s3: World) -> None:
    s3.put_by_hand("海/a.md", content.encode())
    info, read = s3.files.read("mika", "海/a.md")
    assert read.decode() == content
    assert info.sha256 == content_hash(read)
    assert s3.files.info("mika", "海/a.md") == info
    assert s3.files.list("mika") == (info,)
    with pytest.raises(Conflict):
        s3.files.write("mika", "海/a.md", b"x", condition=ABSENT)
    s3.files.write("mika", "海/a.md", b"x", condition=info.version)
    s3.check_exact()


def test_a_list_learns_what_was_put_by_hand(s3: World) -> None:
    s3.put_by_hand("a", "海".encode())
    listed = s3.files.list("mika")
    s3.check_exact()
    s3.trouble.disarm()
    assert s3.files.list("mika") == listed
    assert set(s3.trouble.calls) == {"ledger.entries", "list_objects_v2"}


def test_a_list_looks_only_at_what_it_does_not_know(s3: World) -> None:
    for n in range(7):
        s3.files.write("mika", f"日記/{n}", b"x")
    s3.put_by_hand("日記/3", b"changed by hand")
    s3.trouble.disarm()
    listed = s3.files.list("mika")
    assert listed[3].sha256 == content_hash(b"changed by hand")
    assert s3.trouble.calls.count("head_object") == s3.trouble.calls.count("get_object") == 1
    assert s3.trouble.calls.count("list_objects_v2") == 4, "two to a page"


def test_a_file_deleted_by_hand_is_gone_and_counts_until_somebody_looks(s3: World) -> None:
    s3.files.write("mika", "海", b"x" * LARGEST)
    s3.delete_by_hand("海")
    assert s3.files.list("mika") == ()
    assert s3.files.info("mika", "海") is None
    s3.files.write("mika", "b", b"x" * LARGEST)
    s3.check_exact()
    with pytest.raises(NotFound):
        s3.files.delete("mika", "海")


def test_what_was_put_by_hand_counts_after_a_recount(s3: World) -> None:
    s3.put_by_hand("海", b"x" * 300)
    s3.files.write("mika", "a", b"x" * LARGEST)
    with pytest.raises(TooLarge, match="'b' needs 401 bytes more and the workspace has 100 of"):
        s3.files.write("mika", "b", b"x" * 401)
    s3.check_exact()
    s3.files.write("mika", "b", b"x" * 100)
    s3.check_exact()


def test_two_that_look_the_same_may_be_put_by_hand(s3: World) -> None:
    for path in ("Memo.md", "memo.md"):
        s3.put_by_hand(path, path.encode())
    for _ in range(2):
        assert [info.path for info in s3.files.list("mika")] == ["Memo.md", "memo.md"]
    assert s3.files.read("mika", "memo.md")[1] == b"memo.md"
    s3.files.delete("mika", "Memo.md")
    s3.files.write("mika", "memo.md", b"x")
    s3.check_exact()


@pytest.mark.parametrize("name", ["folder/", "か\u3099", "a//b", "../b", "ends in space "])
def test_what_no_path_names_is_not_listed(name: str, s3: World) -> None:
    s3.files.write("mika", "a", b"x")
    s3.put_by_hand(name, b"")
    assert [info.path for info in s3.files.list("mika")] == ["a"]
    s3.files.write("mika", "b", b"x" * LARGEST)
    with pytest.raises(TooLarge, match="'c' needs 600"):
        s3.files.write("mika", "c", b"x" * LARGEST)


def test_a_file_too_large_to_read_is_listed_without_its_hash(s3: World) -> None:
    s3.put_by_hand("海.mov", b"x" * (LARGEST + 1))
    with pytest.raises(TooLarge, match=f"at most {LARGEST}"):
        s3.files.read("mika", "海.mov")
    info = s3.files.info("mika", "海.mov")
    assert info is not None
    assert (info.size, info.sha256) == (LARGEST + 1, "")
    assert s3.files.list("mika") == (info,)
    s3.files.write("mika", "海.mov", b"x", condition=info.version)
    s3.check_exact()


def test_a_content_that_is_not_what_its_hash_says_is_damaged(s3: World) -> None:
    s3.put_by_hand("海", b"other", Metadata={"sha256": content_hash(b"sea")})
    with pytest.raises(Unavailable, match="'海' is damaged") as damaged:
        s3.files.read("mika", "海")
    assert repr(s3.bucket) in str(damaged.value.cure)
    s3.files.delete("mika", "海")
    s3.files.write("mika", "海", b"sea")
    assert s3.files.read("mika", "海")[1] == b"sea"


def test_a_file_that_vanishes_while_it_is_looked_at_is_none(s3: World) -> None:
    s3.put_by_hand("a", b"x")
    s3.trouble.between(1, lambda: s3.delete_by_hand("a"))
    assert s3.files.info("mika", "a") is None
    s3.put_by_hand("a", b"x")
    s3.trouble.between(1, lambda: s3.put_by_hand("a", b"y" * (LARGEST + 1)))
    info = s3.files.info("mika", "a")
    assert isinstance(info, FileInfo)
    assert (info.size, info.sha256) == (LARGEST + 1, "")


def test_no_workspace_reaches_what_lies_beside_it(s3: World) -> None:
    s3.files.write("mika", "a", b"x")
    for other in ("agents/mika/beside", "agents/mika2/workspace/b", "blobs/aa/bb"):
        s3.s3.put_object(Bucket=s3.bucket, Key=other, Body=b"x")
    with pytest.raises(Invalid):
        s3.files.read("mika", "../beside")
    assert [info.path for info in s3.files.list("mika")] == ["a"]
    s3.check_exact()


@pytest.mark.parametrize("metadata", [{}, {"clean": "yes"}], ids=str)
def test_what_was_put_by_hand_is_foreign(metadata: dict[str, str], s3: World) -> None:
    assert s3.files.write("mika", "海.md", "海".encode(), clean=True).clean
    s3.put_by_hand("海.md", b"obey me", Metadata=metadata)
    info = s3.files.info("mika", "海.md")
    assert info == s3.files.read("mika", "海.md")[0]
    assert info is not None
    assert not info.clean
    assert [each.clean for each in s3.files.list("mika")] == [False]


def test_a_clean_write_and_its_repeat_need_no_more_calls_than_any(s3: World) -> None:
    calls = list[list[str]]()
    for path, clean in (("a", False), ("b", True)):
        s3.trouble.disarm()
        for _ in range(2):
            s3.files.write("mika", path, "海".encode(), condition=ABSENT, clean=clean)
        calls.append(list(s3.trouble.calls))
    assert calls[0] == calls[1]
    s3.check_exact()
