"""Sections of a generated page: a heading, a sentence and a table, in words that a TOML file has.

The file of a page has `heading.NAME`, `about.NAME` and `head.NAME` for each section, the last one
with the columns separated by `|`, and `NAME.ROW` for each row: the text of its last column.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from opencrab.domain.value import Language
from tests.docs.reference.text import sentence, table

_PARTS = ("heading", "about", "head")


@dataclass(frozen=True)
class Section:
    """One section: its rows by their names, each with the cells before its text.

    `facts` are put into its sentence; `more` names entries of the file that are used elsewhere.
    Rows that are `complete` need no text.
    """

    name: str
    rows: Mapping[str, tuple[str, ...]]
    facts: Mapping[str, object] | None = None
    more: tuple[str, ...] = ()
    complete: bool = False

    @property
    def entries(self) -> Iterator[str]:
        """What the file of the page must have for it."""
        yield from (f"{part}.{self.name}" for part in _PARTS)
        if not self.complete:
            yield from (f"{self.name}.{row}" for row in self.rows)
        yield from self.more


def entries(sections: Iterable[Section]) -> set[str]:
    """What the file of a page must have, and nothing else may be in it."""
    return {"title", *(entry for section in sections for entry in section.entries)}


def text_of(file: str, sections: Iterable[Section], language: Language) -> str:
    """A page as Markdown, in one language."""
    lines = [f"# {sentence(file, 'title', language)}"]
    for section in sections:
        heading, about, head = (
            sentence(file, f"{part}.{section.name}", language).strip() for part in _PARTS
        )
        columns = tuple(column.strip() for column in head.split("|"))
        rows = [
            cells
            if section.complete
            else (*cells, sentence(file, f"{section.name}.{row}", language))
            for row, cells in section.rows.items()
        ]
        told = about.format_map(section.facts) if section.facts else about
        lines += ["", f"## {heading}", "", told, "", *table(columns, rows)]
    return "\n".join(lines) + "\n"
