"""Transcripts: each conversation has a file of its own, whatever its program called it."""

import pytest

from opencrab.domain.bundle.transcript import TRANSCRIPT_BYTES, transcripts_of_bundle


def _rows(*ids: str, text: str = "hi", lines: int = 1) -> list[dict[str, object]]:
    rows = list[dict[str, object]]()
    for each in ids:
        rows.append({"kind": "session", "value": {"id": each}})
        line = {"speaker_name": "太郎", "text": f"{each}: {text}"}
        rows += [{"kind": "line", "value": line}] * lines
    return rows


@pytest.mark.parametrize(
    "ids",
    [
        ("会議", "雑談", "メモ"),
        ("same", "same", "SAME"),
        ("a/b", "a b", "a-b"),
        ("x" * 64 + "1", "x" * 64 + "2", ""),
        ("s", "s", "s-2"),
    ],
)
def test_conversations_of_like_names_keep_their_own_files(ids: tuple[str, ...]) -> None:
    found = dict(transcripts_of_bundle(_rows(*ids)))
    assert len(found) == len({path.casefold() for path in found}) == 3
    for each in ids:
        assert any(f"> {each}: hi" in text for text in found.values())
    assert list(found) == list(dict(transcripts_of_bundle(_rows(*ids))))


def test_the_parts_of_a_long_one_take_no_other_ones_name() -> None:
    text = "波" * (TRANSCRIPT_BYTES // 6)
    found = list(transcripts_of_bundle([*_rows("a-2"), *_rows("a", text=text, lines=2)]))
    assert [path for path, _ in found] == [
        "imported/sessions/a-2.md",
        "imported/sessions/a.md",
        "imported/sessions/a-2-2.md",
    ]
