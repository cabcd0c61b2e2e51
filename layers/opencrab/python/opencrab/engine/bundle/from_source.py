"""The bundle of an agent that a reader found elsewhere: one way in for all sources."""

import hashlib
import json
import re
from collections import Counter
from datetime import datetime
from typing import IO

from pydantic import ValidationError

from opencrab.domain.agents.agent import Identity
from opencrab.domain.agents.soul import Soul
from opencrab.domain.autonomy.schedule import SCHEDULE, SCHEDULES, ScheduleDraft, new_schedule
from opencrab.domain.bundle.agent import BundledAgent
from opencrab.domain.bundle.contents import AGENT, FILE, BundledFile, bundled_document
from opencrab.domain.errors import Invalid
from opencrab.domain.identifier import new_ulid, stable_id
from opencrab.domain.memory.memory import MEMORY, Memory, Provenance
from opencrab.domain.memory.write_policy import TAINTED_CONFIDENCE
from opencrab.domain.skills.skill import (
    GUIDANCE_BYTES,
    QUARANTINED_SKILLS,
    SKILL,
    AcquiredSkill,
    SkillStatus,
    SourceType,
)
from opencrab.domain.text.hidden import name_without_hidden_text
from opencrab.domain.value import Value
from opencrab.engine.bundle.found import FoundAgent, FoundSkill
from opencrab.engine.bundle.writer import SESSIONS, BundleWriter

_NO_NAME = re.compile(r"[^a-z0-9]+")
_NAME = 64


def write_found_agent(found: FoundAgent, into: IO[bytes], at: datetime) -> None:
    """Write what was found as a bundle; raises Invalid if it has no name or does not fit."""
    try:
        with BundleWriter(into, at=at, source=found.source) as bundle:
            _write(found, bundle, at)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise Invalid(
            f"{'.'.join(map(str, first['loc']))}: {first['msg']}",
            field="source",
            cure="correct it in the source",
        ) from None


def _write(found: FoundAgent, bundle: BundleWriter, at: datetime) -> None:
    bundle.add_row(AGENT, _json(_agent(found)))
    for number, (text, when) in enumerate(found.memories):
        bundle.add_row(MEMORY, _json(_memory(found, number, text, when or at)))
    for skill in _skills(found, at):
        bundle.add_row(SKILL, _json(skill))
    for schedule in _schedules(found, at):
        bundle.add_row(SCHEDULE, _json(schedule))
    for path, content in sorted(found.files.items()):
        sha256 = bundle.add_content(content)
        bundle.add_row(FILE, _json(BundledFile(path=path, size=len(content), sha256=sha256)))
    for row in found.sessions:
        bundle.add_row(SESSIONS, json.dumps(row, ensure_ascii=False))
    for (what, why), count in found.lost.items():
        bundle.leave_out(what, why, count)


def _agent(found: FoundAgent) -> BundledAgent:
    name = " ".join(name_without_hidden_text(found.clean(found.name, "name")).split())[:_NAME]
    if not name.strip():
        raise Invalid("the agent has no name", field="name", cure="give it one with --as")
    soul = {"persona_name": name, **found.soul, "custom_traits": found.traits}
    return BundledAgent(
        name=name,
        language=found.language,
        purpose=found.clean(found.purpose, "purpose")[:4_000],
        soul=Soul.model_validate(soul),
        identity=Identity.model_validate({"name": name, **found.identity}),
    )


def _memory(found: FoundAgent, number: int, text: str, at: datetime) -> Memory:
    digest = hashlib.sha256(f"{found.source}\n{number}\n{text}".encode()).digest()
    return Memory(
        id=new_ulid(max(int(at.timestamp() * 1_000), 0), digest),
        category=f"import_{found.source}",
        content=text,
        provenance=Provenance.IMPORT,
        confidence=TAINTED_CONFIDENCE,
        tainted=True,
        created_at=at,
        updated_at=at,
    )


def _schedules(found: FoundAgent, at: datetime) -> list[Value]:
    made, seen = list[Value](), Counter[tuple[str, ...]]()
    for each in found.schedules:
        try:
            draft = ScheduleDraft(
                name=each.name[:_NAME] or "schedule",
                when=each.when,
                zone=each.zone,
                instructions=each.instructions,
                enabled=False,
            )
        except (ValidationError, Invalid):
            found.lose(each.name, "schedule")
            continue
        if len(made) >= SCHEDULES:
            found.lose("schedules", "too_many")
            continue
        # Two may say the same at different times, or be the same twice.
        which = (each.name, each.when, each.zone, each.instructions)
        seen[which] += 1
        schedule_id = stable_id("schedule", found.source, *which, str(seen[which]))
        made.append(bundled_document(new_schedule(schedule_id, "self", draft, at)))
    return made


def _skills(found: FoundAgent, at: datetime) -> list[AcquiredSkill]:
    made = dict[str, AcquiredSkill]()
    for each in found.skills:
        name = _skill_name(each.name)
        if name in made:
            name = _skill_name(f"{name[: _NAME - 20]}-{len(made) + 1}", prefix="")
        if len(made) >= QUARANTINED_SKILLS:
            found.lose(each.name, "too_many")
        elif skill := _skill(found, each, name, at):
            made[name] = skill
    return list(made.values())


def _skill_name(given: str, prefix: str = "imported-") -> str:
    return f"{prefix}{_NO_NAME.sub('-', given.casefold()).strip('-')}"[:_NAME].strip("-")


def _skill(found: FoundAgent, each: FoundSkill, name: str, at: datetime) -> AcquiredSkill | None:
    guidance = found.clean(each.guidance, each.name).strip()
    if not guidance:
        found.lose(each.name, "empty")
        return None
    if len(guidance.encode()) > GUIDANCE_BYTES:
        found.lose(each.name, "cut")
        guidance = guidance.encode()[:GUIDANCE_BYTES].decode("utf-8", "ignore")
    return AcquiredSkill(
        name=name,
        description=found.clean(each.description, each.name).strip()[:1_024] or each.name[:100],
        guidance=guidance,
        status=SkillStatus.QUARANTINED,
        source_type=SourceType.RESEARCH,
        source_context=f"import:{found.source}",
        tainted=True,
        created_at=at,
        updated_at=at,
    )


def _json(value: Value) -> str:
    return value.model_dump_json(exclude_defaults=True)
