"""Two agents whose past is exported and imported, and archives that anybody may have made."""

import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from opencrab.actions import Registry
from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.session import Hearing, Participant, Session
from opencrab.domain.document import new_fact
from opencrab.domain.memory.memory import MEMORY, Memory, Provenance
from opencrab.domain.models.routing import Routing
from opencrab.engine.memory.archive.file import MANIFEST
from opencrab.engine.runtime import Runtime
from opencrab.ports.home import Home
from tests.contract.homes import sqlite
from tests.unit.engine.known_models import Known

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


def memory(number: int, **changes: object) -> Memory:
    """A memory of Mika's."""
    fields: dict[str, object] = {
        "id": f"{number:026d}",
        "category": "preference",
        "content": f"太郎さんは蟹が好き {number}",
        "provenance": Provenance.OWNER,
        "hearing": Hearing.SESSION,
        "session_id": "s1",
        "created_at": NOW,
        "updated_at": NOW,
    }
    return Memory.model_validate(fields | changes)


@contextmanager
def installation(tmp_path: Path) -> Iterator[Runtime]:
    """Mika in session s1 and Ken in s2."""
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as home:
        for name in ("mika", "ken"):
            agent = Agent(id=name, name=name, created_at=NOW, updated_at=NOW)
            soul, identity = Soul(persona_name=name), Identity(name=name)
            home.agents.create(Profile(agent=agent, soul=soul, identity=identity))
        for session_id, agents in (("s1", ("mika",)), ("s2", ("ken",))):
            home.sessions.create(
                Session(
                    id=session_id,
                    participants=tuple(Participant(agent_id=each) for each in agents),
                    created_by="owner",
                    created_at=NOW,
                    updated_at=NOW,
                )
            )
        yield Runtime(
            home=home,
            clock=clock,
            models=Known((), Routing(default="x:y")),
            actions=Registry(()),
            consequences=CONSEQUENCES,
            jobs=JOBS,
        )


def keep(home: Home, *memories: Memory) -> None:
    """Make them Mika's."""
    home.facts.commit(*(new_fact("mika", MEMORY, each.id, each) for each in memories))


def kept(home: Home, agent_id: str) -> list[Memory]:
    """The memories of an agent."""
    return [fact.read(Memory) for fact in home.facts.page(agent_id, MEMORY)]


def zipped(**members: str) -> bytes:
    """A zip made by anybody."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        manifest = {"agent_id": "x", "exported_at": NOW.isoformat()}
        archive.writestr(MANIFEST, members.pop("manifest", json.dumps(manifest)))
        for name, text in members.items():
            archive.writestr(f"{name}.jsonl", text)
    return buffer.getvalue()


def row(**changes: object) -> str:
    """A memory as a row of an archive."""
    return json.dumps(json.loads(memory(1).model_dump_json()) | changes)
