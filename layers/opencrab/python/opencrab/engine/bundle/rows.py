"""Rows of a bundle as an agent's own documents, as far as the bundle is trusted."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.autonomy.schedule import SCHEDULE, SCHEDULES, Schedule
from opencrab.domain.bundle.contents import DOCUMENTS, MEMORY_KINDS, bundled_document
from opencrab.domain.bundle.manifest import describe_bundle_error
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Invalid, Refused, TooLarge
from opencrab.domain.goals.goal import GOAL, Goal, goal_document_id
from opencrab.domain.goals.owner_order import GOAL_ORDER
from opencrab.domain.goals.plan import PLAN, AbandonedPlan, abandoned_goal_plan_id
from opencrab.domain.identifier import stable_id
from opencrab.domain.learning.skill_trials import index_learned_skill
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory
from opencrab.domain.skills.skill import SKILL, SKILLS_KEPT, AcquiredSkill, SkillStatus
from opencrab.domain.value import Value, is_json_value
from opencrab.engine.agents.agent_session import agents_own_session
from opencrab.engine.bundle.limits import BUNDLE_PART_ROWS, BUNDLE_ROW_BYTES
from opencrab.engine.bundle.record import AgentImport
from opencrab.engine.memory.archive.restore import RestoreCounts, restore_memory_rows
from opencrab.engine.memory.records import stored_memory_state_of_agent
from opencrab.engine.runtime import Runtime

TRUSTED_KINDS = (MIND, GOAL, PLAN, GOAL_ORDER)
"""The kinds that are orders to an agent or its own choices: a stranger's are not taken in."""


class BundlePart:
    """Checked rows of one request, by kind."""

    def __init__(self, content: bytes) -> None:
        self._rows = dict[str, list[tuple[int, dict[str, Any], Value]]]()
        lines = _lines(content)
        if len(lines) > BUNDLE_PART_ROWS:
            raise TooLarge(
                f"the part has {len(lines)} rows, at most {BUNDLE_PART_ROWS} are allowed",
                field="body",
                cure="send more parts with fewer rows",
            )
        for number, line in enumerate(lines, 1):
            kind, row, value = _read(number, line)
            self._rows.setdefault(kind, []).append((number, row, value))

    def rows(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the rows of a member of a memory archive with their line numbers."""
        for number, row, _ in self._rows.get(name.removesuffix(".jsonl"), ()):
            yield number, row

    def values(self, kind: str) -> list[Value]:
        """Return the values of a kind."""
        return [value for _, _, value in self._rows.get(kind, ())]


def take_bundle_part(runtime: Runtime, record: AgentImport, part: BundlePart) -> dict[str, int]:
    """Write the rows of a part; return how many of each kind were taken. It may be repeated.

    Raises Invalid, Refused and TooLarge, mostly before anything is written.
    """
    counts = Counter[str]()
    for kind in DOCUMENTS:
        if kind in MEMORY_KINDS:
            continue
        values = part.values(kind)
        if values and kind in TRUSTED_KINDS and not record.trusted:
            continue
        for value in values:
            _write(runtime, record, kind, value)
            counts[kind] += 1
    taken: RestoreCounts = restore_memory_rows(
        runtime.home, runtime.clock, record.agent_id, part, trusted=record.trusted
    )
    for each in (taken.taken, taken.known):
        counts.update(each)
    return dict(counts)


def _write(runtime: Runtime, record: AgentImport, kind: str, value: Value) -> None:
    facts, agent_id = runtime.home.facts, record.agent_id
    if isinstance(value, AgentState):
        known, mind = stored_memory_state_of_agent(facts, agent_id)
        state = value.replaced(core=mind.core, skills=mind.skills, reported=mind.reported)
        facts.commit(known.with_body(state) if known else new_fact(agent_id, MIND, MIND, state))
    elif isinstance(value, AcquiredSkill):
        _write_skill(runtime, record, value)
    else:
        fact_id, own = _own(runtime, record, kind, value)
        facts.commit(new_fact(agent_id, kind, fact_id, own).replaced(version=0))


def _own(runtime: Runtime, record: AgentImport, kind: str, value: Value) -> tuple[str, Value]:
    agent_id, now = record.agent_id, runtime.clock.now()
    if isinstance(value, Goal):
        own = agents_own_session(agent_id, now).id
        # An authority that the bundle claims was given elsewhere, by people who are not here.
        goal = value.replaced(agent_id=agent_id, session_id=own, principal_id=record.owner)
        return goal_document_id(goal.id), goal
    if isinstance(value, AbandonedPlan):
        return abandoned_goal_plan_id(value.goal_id, value.revision), value
    if isinstance(value, Schedule):
        _require_schedule_room(runtime, record)
        schedule_id = stable_id("imported", agent_id, value.id)
        kept = value if value.id.isalnum() else value.replaced(id=schedule_id)
        own_one = kept.replaced(agent_id=agent_id)
        if not record.trusted:
            own_one = own_one.replaced(enabled=False, channel=None)
        # It is due once the agent is there.
        return own_one.id, own_one.replaced(next_at=None)
    if isinstance(value, WorkingMemory):
        return WORKING, value.replaced(tainted=value.tainted or not record.trusted)
    return kind, value


def _require_schedule_room(runtime: Runtime, record: AgentImport) -> None:
    page = runtime.home.facts.page(record.agent_id, SCHEDULE, limit=SCHEDULES + 1)
    if len(page) > SCHEDULES:
        raise TooLarge(
            f"the bundle has more than {SCHEDULES} schedules",
            field="bundle",
            cure="delete some in the source",
        )


def _write_skill(runtime: Runtime, record: AgentImport, skill: AcquiredSkill) -> None:
    """Write a skill with the agent state that lists it; a stranger's waits for its approval."""
    facts, agent_id = runtime.home.facts, record.agent_id
    is_taken = runtime.skills.find(skill.name) is not None
    if is_taken or runtime.actions.find(skill.name.replace("-", "_")) is not None:
        raise Refused(
            f"the skill {skill.name!r} has the name of an action or a standard skill",
            field="bundle",
            cure="rename it in the source, or upgrade OpenCrab to the source's release",
        )
    if not record.trusted:
        skill = AcquiredSkill(
            **{
                name: getattr(skill, name)
                for name in (
                    *("name", "description", "situation_pattern", "guidance"),
                    *("source_type", "source_context", "created_at", "updated_at"),
                )
            },
            status=SkillStatus.QUARANTINED,
            tainted=True,
        )
    if len(facts.page(agent_id, SKILL, limit=SKILLS_KEPT + 1)) > SKILLS_KEPT:
        raise TooLarge(
            f"the bundle has more than {SKILLS_KEPT} skills",
            field="bundle",
            cure="delete some in the source",
        )
    known, mind = stored_memory_state_of_agent(facts, agent_id)
    after = index_learned_skill(mind, skill)
    changed: list[Document] = [new_fact(agent_id, SKILL, skill.name, skill).replaced(version=0)]
    if after != mind:
        changed.append(known.with_body(after) if known else new_fact(agent_id, MIND, MIND, after))
    facts.commit(*changed)


def _lines(content: bytes) -> list[str]:
    try:
        return [line for line in content.decode("utf-8").split("\n") if line.strip()]
    except UnicodeDecodeError:
        raise Invalid("the part is not UTF-8", field="body", cure="encode it as UTF-8") from None


def _read(number: int, line: str) -> tuple[str, dict[str, Any], Value]:
    try:
        row = json.loads(line) if len(line) <= BUNDLE_ROW_BYTES else None
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict) or not is_json_value(row) or row.keys() != {"kind", "value"}:
        raise Invalid(
            f"row {number} is not an object with kind and value, or is too large",
            field="body",
            cure="send rows as `GET /api/agents/{agent_id}/bundle` returns them",
        )
    kind, fields = row["kind"], row["value"]
    if not isinstance(kind, str) or kind not in DOCUMENTS or not isinstance(fields, dict):
        raise Invalid(
            f"row {number} is of the unknown kind {str(kind)[:40]!r}",
            field="body",
            cure=f"send only {', '.join(DOCUMENTS)}",
        )
    try:
        value = DOCUMENTS[kind].model_validate(fields)
    except ValidationError as error:
        raise Invalid(
            f"row {number}, {kind}: {describe_bundle_error(error)}",
            field="body",
            cure="correct this row, or bundle the agent with this release",
        ) from None
    # What names a session or a turn of elsewhere would name one of here.
    return kind, fields, bundled_document(value)
