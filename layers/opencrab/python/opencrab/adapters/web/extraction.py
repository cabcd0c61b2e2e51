"""The text of an HTML page as people see it: title, headings, paragraphs, lists, words of links."""

import re
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser

_FED = 64 * 1024
"""Characters that the parser gets at once: it begins anew with what it cannot end."""

_TITLE = 500
_VOID = frozenset(
    {
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param"),
        *("source", "track", "wbr"),
    }
)
_SKIPPED = frozenset(
    {
        *("aside", "audio", "button", "canvas", "datalist", "dialog", "footer", "iframe", "map"),
        *("nav", "noscript", "object", "script", "select", "style", "svg", "template"),
        *("textarea", "video"),
    }
)
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLOCKS = frozenset(
    {
        *("address", "article", "blockquote", "body", "caption", "center", "dd", "details", "div"),
        *("dl", "dt", "fieldset", "figcaption", "figure", "form", "head", "header", "html"),
        *("legend", "li", "main", "ol", "p", "pre", "section", "summary", "table", "tbody"),
        *("tfoot", "thead", "title", "tr", "ul", *_HEADINGS),
    }
)
_ENDED_BY_THE_NEXT = frozenset({"dd", "dt", "li", "option", "p", "td", "th", "tr"})
_CELLS = frozenset({"td", "th"})
_UNSEEN = re.compile(r"display:none|visibility:hidden|(?:opacity|font-size):0(?![.\d])")
_SPACE = re.compile(r"\s+")
_SPACES = re.compile(r" {2,}")


def extract_page(
    html: str, size: int, check: Callable[[], None] = lambda: None
) -> tuple[str, str, bool]:
    """Return title and text of an HTML page, and True if reading stopped before its end.

    Args:
        html: The page.
        size: The number of characters of text after which reading stops.
        check: Called for every 64 KiB; may raise, for example on a deadline.
    """
    page = _Page()
    for start in range(0, len(html), _FED):
        check()
        page.feed(html[start : start + _FED])
        if page.size > size:
            return page.title, page.text, True
    # Unlike close(), which would read an end that never comes for each beginning again.
    page.feed("\n")
    return page.title, page.text, False


class _Page(HTMLParser):
    """An HTML parser that collects visible text, skipping hidden elements with their content."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.size = 0
        self._title: list[str] = []
        self._lines: list[str] = []
        self._line: list[str] = []
        self._mark = ""
        self._open: list[tuple[str, bool]] = []
        self._count: Counter[str] = Counter()
        self._unseen = 0

    @property
    def title(self) -> str:
        return _SPACE.sub(" ", "".join(self._title)).strip()[:_TITLE]

    @property
    def text(self) -> str:
        self._end_line()
        return "\n".join(self._lines).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _ENDED_BY_THE_NEXT and self._open and self._open[-1][0] == tag:
            self._close()
        if tag in _VOID:
            if tag in {"br", "hr"} and not self._unseen:
                self._end_line()
            return
        hides = tag in _SKIPPED or _is_unseen(attrs)
        self._open.append((tag, hides))
        self._count[tag] += 1
        self._unseen += hides
        if not self._unseen:
            self._begin(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._count[tag]:
            closed = self._open[-1][0]
            self._close()
            if closed == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._unseen:
            return
        if self._count["title"]:
            if sum(map(len, self._title)) < _TITLE:
                self._title.append(data[:_TITLE])
            return
        if self._count["pre"]:
            for number, line in enumerate(data.split("\n")):
                if number:
                    self._end_line()
                self._add(line)
        else:
            self._add(_SPACE.sub(" ", data))

    def parse_marked_section(self, i: int, report: bool = True) -> int:  # noqa: FBT001, FBT002
        """Treat a marked section as a comment, as browsers do; the base class often raises."""
        return self.parse_bogus_comment(i, report)

    def _begin(self, tag: str) -> None:
        if tag in _CELLS and self._line:
            self._add(" | ")
        elif tag in _BLOCKS:
            self._end_line()
        if tag in _HEADINGS:
            self._mark = f"\n{_HEADINGS[tag]}"
        elif tag == "li":
            self._mark = "- "

    def _close(self) -> None:
        tag, hides = self._open.pop()
        self._count[tag] -= 1
        if not self._unseen and tag in _BLOCKS:
            self._end_line()
        self._unseen -= hides

    def _add(self, text: str) -> None:
        self._line.append(text)
        self.size += len(text)

    def _end_line(self) -> None:
        line, self._line = "".join(self._line), []
        line = line.rstrip() if self._count["pre"] else _SPACES.sub(" ", line).strip()
        if line or self._count["pre"]:
            self._lines.append(f"{self._mark}{line}")
            self._mark = ""
            self.size += 1


def _is_unseen(attributes: list[tuple[str, str | None]]) -> bool:
    for name, value in attributes:
        if name == "hidden" or (name == "aria-hidden" and value == "true"):
            return True
        if name == "style" and value and _UNSEEN.search(_SPACE.sub("", value.lower())):
            return True
    return False
