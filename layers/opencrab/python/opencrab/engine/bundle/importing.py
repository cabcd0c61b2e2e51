"""An import from its beginning to its end: the agent comes last, and with it everything else.

Rows and files are written under the id of an agent that does not exist. One write creates the
agent; an import that ends before that leaves nothing that anybody sees, and can be undone.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum

from opencrab.domain.agents.agent import Profile
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.autonomy.schedule import SCHEDULE, Schedule, next_schedule_time
from opencrab.domain.bundle.agent import (
    BundledAgent,
    profile_of_bundled_agent,
    untrusted_bundled_agent,
)
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.errors import Changed, Conflict, Invalid, NotFound
from opencrab.domain.identifier import stable_id
from opencrab.domain.models.routing import LlmConfig
from opencrab.domain.workspace.path import is_published_workspace_path, workspace_path
from opencrab.engine.agents.event_report import update_event_report_of_agent
from opencrab.engine.agents.vital_signs import create_agent_vital_signs
from opencrab.engine.approvals.approvals import require_valid_approval_policy
from opencrab.engine.bundle.limits import BUNDLE_PARTS
from opencrab.engine.bundle.open_import import DocumentsOfImport
from opencrab.engine.bundle.record import (
    AGENT_IMPORT,
    AgentImport,
    AgentImportState,
    agent_import_document,
    agent_import_ending_error,
    change_agent_import,
    find_agent_import,
    open_agent_import,
    remove_agent_import,
)
from opencrab.engine.bundle.rows import BundlePart, take_bundle_part
from opencrab.engine.bundle.undo import remove_late_file_of_import
from opencrab.engine.models.preferences import require_usable_models_of_agent
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.cleared_files import foreign_name_mark_of_turn
from opencrab.ports.paging import all_pages
from opencrab.ports.workspace.files import ABSENT, FileInfo

_TRIES = 4


class AgentImportNote(StrEnum):
    """What of an agent's settings does not come along, or not as it was."""

    MODEL = "model_not_here"
    POLICY = "policy_not_here"
    UNTRUSTED = "settings_of_strangers"


def prepare_agent_import(
    runtime: Runtime, bundled: BundledAgent, *, trusted: bool
) -> tuple[BundledAgent, tuple[AgentImportNote, ...]]:
    """Return an agent's settings as they can be here, and notes about what they lose.

    Without trust all settings that decide what it may do or spend are the defaults. A model or an
    action that this installation does not have is replaced by the installation's choice.
    """
    if not trusted:
        return untrusted_bundled_agent(bundled), (AgentImportNote.UNTRUSTED,)
    notes = list[AgentImportNote]()
    try:
        require_usable_models_of_agent(runtime.models, bundled.llm, bundled.model)
    except Invalid:
        kept = LlmConfig(private=bundled.llm.private, aim=bundled.llm.aim)
        bundled = bundled.replaced(model=None, llm=kept)
        notes.append(AgentImportNote.MODEL)
    try:
        require_valid_approval_policy(runtime.actions, bundled.policy)
    except Invalid:
        bundled = bundled.replaced(policy=ApprovalPolicy.GUARDED)
        notes.append(AgentImportNote.POLICY)
    return bundled, tuple(notes)


def begin_agent_import(
    runtime: Runtime,
    import_id: str,
    bundled: BundledAgent,
    *,
    owner: str,
    bundle: str,
    trusted: bool,
) -> AgentImport:
    """Begin an import, or return the one of this id; raises Conflict if it is of another bundle."""
    record = AgentImport(
        id=import_id,
        agent_id=stable_id("imported", import_id),
        owner=owner,
        bundle=bundle,
        trusted=trusted,
        agent=prepare_agent_import(runtime, bundled, trusted=trusted)[0],
        begun_at=runtime.clock.now(),
    )
    try:
        runtime.home.facts.commit(agent_import_document(record))
    except Changed:
        stored = find_agent_import(runtime.home.facts, import_id).read(AgentImport)
        if (stored.bundle, stored.trusted) != (bundle, trusted):
            raise Conflict(
                f"import {import_id!r} is of another bundle",
                field="Idempotency-Key",
                cure="use a new key for a new import",
            ) from None
        return stored
    return record


def list_agent_imports(runtime: Runtime) -> Iterator[AgentImport]:
    """Yield the imports that have not ended."""
    for fact in all_pages(runtime.home.facts, INSTALLATION_FACTS, AGENT_IMPORT):
        yield fact.read(AgentImport)


def take_agent_import_part(
    runtime: Runtime, import_id: str, number: int, content: bytes
) -> dict[str, int]:
    """Take in the rows of a part, which may be repeated; return how many of each kind were taken.

    Raises NotFound, Invalid, Refused, TooLarge, and Conflict for an import that is ending: then
    nothing more is written, also if this request had begun before.
    """
    record = open_agent_import(runtime.home.facts, import_id)
    if not 1 <= number <= BUNDLE_PARTS:
        raise Invalid(
            f"part {number} is not between 1 and {BUNDLE_PARTS}",
            field="number",
            cure="number the parts from 1 on",
        )
    facts = runtime.home.facts
    open_home = replace(runtime.home, facts=DocumentsOfImport(facts, import_id))
    taken = _take_part(replace(runtime, home=open_home), record, BundlePart(content))
    change_agent_import(facts, import_id, lambda found: _with_part(found, number))
    return taken


def _take_part(runtime: Runtime, record: AgentImport, part: BundlePart) -> dict[str, int]:
    """Take a part, again if it came twice at once and both changed the same document."""
    for _ in range(_TRIES):
        with suppress(Changed):
            return take_bundle_part(runtime, record, part)
    return take_bundle_part(runtime, record, part)


def write_agent_import_file(
    runtime: Runtime, import_id: str, path: str, content: bytes, *, clean: bool
) -> FileInfo:
    """Write a file of the agent; it counts as its own words only if a trusted bundle says so.

    What a stranger published is not published here: it lies beside other imported files.
    """
    record = open_agent_import(runtime.home.facts, import_id)
    path, is_own = workspace_path(path), clean and record.trusted
    if is_published_workspace_path(path) and not record.trusted:
        path = workspace_path(f"imported/{path}")
    facts, files = DocumentsOfImport(runtime.home.facts, import_id), runtime.home.files
    known = files.info(record.agent_id, path)
    condition = ABSENT if known is None else known.version
    # After this the import may end, and the agent change the file: then the condition fails.
    open_agent_import(facts, import_id)
    if not is_own:
        facts.commit(foreign_name_mark_of_turn(record.agent_id, path))
    try:
        info = files.write(record.agent_id, path, content, condition=condition, clean=is_own)
    finally:
        _require_no_late_file(runtime, record, path)
    return info


def _require_no_late_file(runtime: Runtime, record: AgentImport, path: str) -> None:
    """Raise what ended an import while a file of it was written, which is no agent's then."""
    try:
        open_agent_import(runtime.home.facts, record.id)
    except (NotFound, Conflict):
        remove_late_file_of_import(runtime, record, path)
        raise


def finish_agent_import(runtime: Runtime, import_id: str, *, parts: int, files: int) -> Profile:
    """Create the agent, if everything has come; what was imported is its own from then on.

    Raises NotFound, and Conflict while parts or files are missing. May be repeated until it ends.
    """
    record = find_agent_import(runtime.home.facts, import_id).read(AgentImport)
    if record.state is AgentImportState.OPEN:
        _require_all_of_agent_import(runtime, record, parts=parts, files=files)
    record = change_agent_import(runtime.home.facts, import_id, _finishing)
    now = runtime.clock.now()
    profile = profile_of_bundled_agent(record.agent, record.agent_id, record.owner, now)
    with suppress(Conflict):
        # Interrupted after this, its owner may have changed the agent meanwhile.
        runtime.home.agents.create(profile)
    created = runtime.home.agents.get(record.agent_id)
    _start_schedules(runtime, record.agent_id)
    heartbeat = created.agent.heartbeat
    create_agent_vital_signs(runtime, created, reviews=heartbeat.acts_on_its_own)
    update_event_report_of_agent(runtime, record.agent_id)
    remove_agent_import(runtime.home.facts, import_id)
    return created


def _require_all_of_agent_import(
    runtime: Runtime, record: AgentImport, *, parts: int, files: int
) -> None:
    missing = sorted(set(range(1, parts + 1)) - set(record.parts))
    if missing:
        raise Conflict(
            f"part {missing[0]} of {parts} has not come",
            field="parts",
            cure="send it, then finish the import",
        )
    stored = len(runtime.home.files.list(record.agent_id))
    if stored != files:
        raise Conflict(
            f"{stored} files have come, not {files}",
            field="files",
            cure="send all of them, then finish the import",
        )


def _start_schedules(runtime: Runtime, agent_id: str) -> None:
    """Set the next time of each schedule that is on; one whose time never comes is switched off."""
    now = runtime.clock.now()
    for fact in tuple(all_pages(runtime.home.facts, agent_id, SCHEDULE)):
        schedule = fact.read(Schedule)
        if not schedule.enabled or schedule.next_at is not None:
            continue
        try:
            started = schedule.replaced(
                next_at=next_schedule_time(schedule.when, schedule.zone, now)
            )
        except Invalid:
            started = schedule.replaced(enabled=False)
        runtime.home.facts.commit(fact.with_body(started).replaced(due_at=started.next_at))


def _with_part(record: AgentImport, number: int) -> AgentImport:
    if record.state is not AgentImportState.OPEN:
        raise agent_import_ending_error(record)
    return record.replaced(parts=tuple(sorted({*record.parts, number})))


def _finishing(record: AgentImport) -> AgentImport:
    if record.state is AgentImportState.UNDOING:
        raise agent_import_ending_error(record)
    return record.replaced(state=AgentImportState.FINISHING)
