"""Export of an agent: the rows of its bundle, part after part, the same rows in every home."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.bundle.agent import bundled_agent
from opencrab.domain.bundle.contents import (
    AGENT,
    DOCUMENTS,
    FILE,
    LEFT_OUT,
    PEOPLE,
    BundledFile,
    bundled_document,
    why_not_bundled,
)
from opencrab.domain.bundle.manifest import LeftOut
from opencrab.domain.errors import Invalid
from opencrab.domain.workspace.path import FOREIGN_NAME, file_name_key
from opencrab.engine.bundle.people import ForeignPeople
from opencrab.engine.memory.archive.rows import ArchivePart, ArchiveRow
from opencrab.engine.runtime import Runtime
from opencrab.ports.home import Home
from opencrab.ports.paging import all_pages
from opencrab.ports.workspace.attached_folders import AttachedPlace

_PART_ROWS, _PART_BYTES = 1_000, 1 << 20


@dataclass(frozen=True)
class BundleSelection:
    """What of an agent is exported; `people` includes what it knows from and about others."""

    people: bool = False


def export_bundle_part(
    runtime: Runtime, agent_id: str, wanted: BundleSelection, after: str = ""
) -> ArchivePart:
    """Export the rows after a place, about 1 MiB at most; no text at the end.

    Raises NotFound, and Invalid for a place that is of no export.
    """
    runtime.home.agents.get(agent_id)
    people = ForeignPeople(runtime, agent_id, wanted=wanted.people)
    text, size, place = list[str](), 0, after
    for row in islice(_rows(runtime.home, agent_id, people, after), _PART_ROWS):
        line = row.json()
        text.append(line)
        size, place = size + len(line.encode()), row.place
        if size >= _PART_BYTES:
            break
    return ArchivePart("".join(text), place)


def _rows(home: Home, agent_id: str, people: ForeignPeople, after: str) -> Iterator[ArchiveRow]:
    kind, _, rest = after.partition("/")
    order = (AGENT, *DOCUMENTS, FILE)
    if kind and kind not in order:
        raise Invalid("this place is of no export", field="after", cure="start from the beginning")
    for name in order[order.index(kind) if kind else 0 :]:
        last = rest if name == kind else ""
        if name == AGENT and not last:
            yield ArchiveRow(AGENT, bundled_agent(home.agents.get(agent_id)), f"{AGENT}/{AGENT}")
        elif name == FILE:
            yield from _files(home, agent_id, people, last)
        elif name != AGENT:
            yield from _documents(home, agent_id, name, people, last)


def _documents(
    home: Home, agent_id: str, kind: str, people: ForeignPeople, last: str
) -> Iterator[ArchiveRow]:
    if kind == MIND:
        # A state is in no page.
        stored = None if last else home.facts.get(agent_id, MIND, MIND)
        found = iter(() if stored is None else (stored,))
    else:
        found = all_pages(home.facts, agent_id, kind, after=last)
    for fact in found:
        value, place = fact.read(DOCUMENTS[kind]), f"{kind}/{fact.id}"
        why = why_not_bundled(kind, value, people=people.wanted)
        if not why and people.taught(value):
            why = PEOPLE
        if why:
            yield ArchiveRow(LEFT_OUT, LeftOut(what=kind, why=why), place)
            continue
        if isinstance(value, AgentState):
            value = people.state_without_goals(value)
        yield ArchiveRow(kind, bundled_document(people.without_owner(value)), place)


def _files(home: Home, agent_id: str, people: ForeignPeople, last: str) -> Iterator[ArchiveRow]:
    attached = _attached_prefixes(home, agent_id)
    foreign = {fact.id for fact in all_pages(home.facts, agent_id, FOREIGN_NAME)}
    for info in home.files.list(agent_id):
        if info.path <= last:
            continue
        place = f"{FILE}/{info.path}"
        folder = next((each for each in attached if info.path.startswith(each)), None)
        if folder is not None:
            # Without the names of its files, which are the owner's own.
            what = folder.rstrip("/") or str(AttachedPlace.WORKSPACE)
            yield ArchiveRow(LEFT_OUT, LeftOut(what=what, why="attached_folder"), place)
            continue
        if people.sent(info.path):
            yield ArchiveRow(LEFT_OUT, LeftOut(what=FILE, why=PEOPLE), place)
            continue
        clean = info.clean and file_name_key(info.path) not in foreign
        file = BundledFile(path=info.path, size=info.size, sha256=info.sha256, clean=clean)
        yield ArchiveRow(FILE, file, place)


def _attached_prefixes(home: Home, agent_id: str) -> tuple[str, ...]:
    """Return the prefixes of files that lie in folders of the owner's."""
    if home.folders is None:
        return ()
    found = (each for each in home.folders.all() if each.agent_id == agent_id)
    whole = AttachedPlace.WORKSPACE
    return tuple("" if each.place is whole else f"{each.place}/" for each in found)
