"""Attachments: judged by what they are, and refused if their name says something else."""

import pytest

from opencrab.domain.conversation.attachment import (
    PICTURE_BYTES,
    TEXT_FILE_BYTES,
    AttachedKind,
    AttachmentFault,
    judge_message_attachment,
    message_attachment_name,
)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
JPEG = b"\xff\xd8\xff\xe0" + bytes(40)


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("蟹.png", PNG, AttachedKind("image", "image/png")),
        ("crab", PNG, AttachedKind("image", "image/png")),
        ("crab.png", JPEG, AttachedKind("image", "image/jpeg")),
        ("a.gif", b"GIF89a" + bytes(9), AttachedKind("image", "image/gif")),
        ("a.webp", b"RIFF0000WEBP" + bytes(9), AttachedKind("image", "image/webp")),
        ("メモ.md", "蟹は横に歩く".encode(), AttachedKind("file", "text/plain")),
        ("main.rs", b"fn main() {}", AttachedKind("file", "text/plain")),
        ("empty.txt", b"", AttachmentFault.EMPTY),
        ("empty.png", b"", AttachmentFault.EMPTY),
        ("crab.PNG", b"no picture", AttachmentFault.NO_PICTURE),
        ("notes.txt", PNG, AttachmentFault.IS_PICTURE),
        ("a.pdf", b"%PDF-1.7\n\xff\xfe", AttachmentFault.NOT_TEXT),
        ("表.csv", "売上".encode("cp932"), AttachmentFault.NOT_TEXT),
        ("a.txt", "売上".encode("utf-16"), AttachmentFault.NOT_TEXT),
        ("a.bin", b"a\x00b", AttachmentFault.NOT_TEXT),
        ("huge.png", PNG + bytes(PICTURE_BYTES), AttachmentFault.TOO_LARGE),
        ("huge.txt", b"a" * (TEXT_FILE_BYTES + 1), AttachmentFault.TOO_LARGE),
        ("large.txt", b"a" * TEXT_FILE_BYTES, AttachedKind("file", "text/plain")),
    ],
)
def test_a_file_is_judged_by_its_content(
    name: str, content: bytes, found: AttachedKind | AttachmentFault
) -> None:
    assert judge_message_attachment(name, content) == found


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("crab.png", "crab.png"),
        ("写真 1\u30001.png", "写真-1-1.png"),
        ("../../etc/passwd", "passwd"),
        ("C:\\pictures\\crab.png", "crab.png"),
    ],
)
def test_a_name_is_stored_without_folders_and_spaces(name: str, stored: str) -> None:
    assert message_attachment_name(name) == stored
