"""The text of a mail's HTML: what is seen, a line for each line, quotations marked with `>`."""

import re
from html.parser import HTMLParser

MOST_HTML = 300_000
"""Characters of HTML that are read."""

_BLOCKS = frozenset(
    {
        *(
            "address",
            "article",
            "blockquote",
            "body",
            "center",
            "dd",
            "div",
            "dl",
            "dt",
            "fieldset",
        ),
        *("footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "li", "ol"),
        *("p", "pre", "section", "table", "td", "th", "tr", "ul"),
    }
)
_SKIPPED = frozenset({"head", "noscript", "script", "style", "svg", "template", "title"})
_LONGEST_LINK = 500
_VOID = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "wbr"})
_UNSEEN = re.compile(r"display:none|visibility:hidden|(?:opacity|font-size):0(?![.\d])")
_PARAGRAPHS = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6"})


def text_of_email_html(html: str) -> str:
    """Return the visible text; addresses of links that say something else follow their words."""
    page = _Page()
    page.feed(html[:MOST_HTML])
    page.feed("\n")
    return page.text


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[str] = []
        self._words: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self._unseen = 0
        self._quoted = 0
        self._link = ""

    @property
    def text(self) -> str:
        self._end_line()
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self._lines)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in _BLOCKS:
            self._end_line()
        if tag == "br":
            self._end_line(always=True)
        if tag in _VOID:
            return
        style = re.sub(r"\s", "", given.get("style") or "").lower()
        hides = tag in _SKIPPED or "hidden" in given or _UNSEEN.search(style) is not None
        self._open.append((tag, hides))
        self._unseen += hides
        self._quoted += tag == "blockquote"
        if tag == "a":
            self._link = (given.get("href") or "").strip()

    def handle_endtag(self, tag: str) -> None:
        if all(each != tag for each, _ in self._open[-100:]):
            return
        while self._open:
            closed, hides = self._open.pop()
            if closed in _BLOCKS:
                self._end_line()
            if closed in _PARAGRAPHS and not self._unseen:
                self._lines.append(self._mark.strip())
            if closed == "a":
                self._end_link()
            self._unseen -= hides
            self._quoted -= closed == "blockquote"
            if closed == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._unseen:
            return
        words = re.sub(r"[ \t\r\n\f]+", " ", data)
        self._words.append(words if self._words else words.lstrip())

    @property
    def _mark(self) -> str:
        return "> " * min(self._quoted, 5)

    def _end_line(self, *, always: bool = False) -> None:
        line = "".join(self._words).replace("\xa0", " ").strip()
        if line or (always and not self._unseen):
            # What begins like a quotation is one, as in plain text: some programs quote so in HTML.
            self._lines.append(f"{self._mark}{line}".rstrip())
        self._words.clear()

    def _end_link(self) -> None:
        link, self._link = self._link, ""
        if link.startswith(("http://", "https://")) and not self._unseen:
            said = "".join(self._words[-3:]).rstrip()
            if said and not said.endswith((link, link.rstrip("/"))) and len(link) <= _LONGEST_LINK:
                self._words.append(f" ({link})")
