"""A model that looks for everything, and the skills that it looks for."""

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.document import Document, new_fact
from opencrab.domain.learning.skill_readers import learned_skill_readers
from opencrab.domain.memory.clearance import Listeners, memory_clearance_of_turn
from opencrab.domain.skills.skill import SKILL, AcquiredSkill, SourceType
from tests.crash.outside import Reply, Script
from tests.e2e.house import START

SEARCHES: Script = (
    Reply(
        calls=(
            ("search_my_history", {"query": "canary 秘密の話", "limit": 30}),
            ("browse_history", {}),
            ("browse_history", {"first": 1, "last": 50}),
            ("browse_history", {"id": "S1"}),
            ("browse_history", {"session_id": "theirs", "first": 1}),
            ("ws_list", {"path": "notes"}),
            ("ws_read", {"path": "notes/plan.md"}),
            ("ws_read", {"path": "public/open.md"}),
        )
    ),
    Reply(
        calls=(
            ("search_notes", {"query": "canary"}),
            ("get_vault_structure", {"include_content_summary": True}),
            ("read_note", {"path": "vault/ideas.md"}),
            ("recall_model_experiences", {}),
            ("ws_edit", {"path": "notes/plan.md", "old_string": "z", "new_string": "Z"}),
            ("save_memory", {"category": "fact", "content": "The crab likes 3 canary things"}),
        )
    ),
    Reply(
        calls=(
            ("use_skill", {"name": "private"}),
            ("use_skill", {"name": "theirs"}),
            ("use_skill", {"name": "approved"}),
        )
    ),
    Reply(text="done"),
)
"""A model that looks for everything, wherever it is asked."""


def skills() -> tuple[AcquiredSkill, AcquiredSkill, AcquiredSkill]:
    """A skill that only the agent knows, one taught in a session of Yui's, an approved one."""
    private, theirs, approved = (
        AcquiredSkill(
            name=name,
            description=f"canary-skill-{name}",
            situation_pattern="know",
            guidance=f"canary-skill-{name}",
            source_type=SourceType.EXPERIENCE,
            created_at=START,
            updated_at=START,
        )
        for name in ("private", "theirs", "approved")
    )
    return private, theirs, approved.replaced(approved_by="owner")


def secret_skills() -> list[Document]:
    """The skills as they are stored, with the label of the one that Yui taught."""
    private, theirs, approved = skills()
    session = Session(
        id="theirs",
        participants=(Participant(agent_id="crab"),),
        created_by="yui",
        created_at=START,
        updated_at=START,
    )
    narrow = memory_clearance_of_turn(Authority.USER, "yui", session, Listeners())
    label = learned_skill_readers("crab", theirs, narrow)
    assert label is not None
    known = (private, theirs, approved)
    return [*(new_fact("crab", SKILL, each.name, each) for each in known), label]
