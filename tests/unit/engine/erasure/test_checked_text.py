"""Lines and documents that one erasure checks only once."""

from collections.abc import Iterator, Mapping

from opencrab.domain.conversation.message import Line
from opencrab.domain.erasure.stored_text import StoredTextFilter
from opencrab.engine.erasure.checked_text import CheckedText
from opencrab.ports.erasure import ScannedLines
from tests.contract.example import line


class Scan:
    """Sessions of four lines, two in each part; of `s2` the second line matches.

    Of the documents `old` matches, and `new` once a moment is named.
    """

    def __init__(self) -> None:
        self.asked = list[dict[str, int]]()
        self.moments = list[int]()

    def moment(self) -> int:
        return 7

    def documents(
        self, _owner: str, _kind: str, _words: StoredTextFilter, *, since: int = 0
    ) -> Iterator[str]:
        self.moments.append(since)
        yield "new" if since else "old"

    def lines(self, after: Mapping[str, int], _words: StoredTextFilter) -> Iterator[ScannedLines]:
        self.asked.append(dict(after))
        for session_id, reached in after.items():
            for last in range(reached + 2, 5, 2):
                found = (line(session_id=session_id),) if (session_id, last) == ("s2", 2) else ()
                yield ScannedLines(session_id, last, found)


def test_only_sessions_without_a_match_are_not_read_again_for_the_same_words() -> None:
    scan, checked = Scan(), CheckedText()
    words = StoredTextFilter((), ["夕凪七号"])
    found: list[tuple[str, Line]] = list(checked.lines_to_check(scan, ("s1", "s2"), words))
    assert [session_id for session_id, _ in found] == ["s2"]
    list(checked.lines_to_check(scan, ("s1", "s2"), words))
    assert scan.asked[-1] == {"s1": 4, "s2": 0}
    list(checked.lines_to_check(scan, ("s1", "s2"), StoredTextFilter(("01memory",), ())))
    assert scan.asked[-1] == {"s1": 0, "s2": 0}


def test_documents_that_matched_are_checked_again_with_new_ones_for_the_same_words() -> None:
    scan, checked = Scan(), CheckedText()
    words, others = StoredTextFilter((), ["夕凪七号"]), StoredTextFilter((), ["moonlit otter"])
    assert list(checked.documents_to_check(scan, "a1", "memory", words)) == ["old"]
    assert list(checked.documents_to_check(scan, "a1", "memory", words)) == ["old", "new"]
    assert list(checked.documents_to_check(scan, "a1", "signals", words)) == ["old"]
    assert list(checked.documents_to_check(scan, "a1", "memory", others)) == ["old"]
    assert scan.moments == [0, 7, 0, 0]
