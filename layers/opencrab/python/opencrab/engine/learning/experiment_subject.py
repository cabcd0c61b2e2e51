"""The subjects of an agent's experiments: looking up the one that a text names."""

from datetime import datetime

from opencrab.domain.errors import NotFound
from opencrab.domain.learning.change import MEMORIES, AdjustmentKind, LearnedSubject, mix_of
from opencrab.domain.skills.skill import SKILL
from opencrab.engine.learning.experience_changes import has_learned_experience
from opencrab.engine.memory.records import stored_memory_state_of_agent
from opencrab.ports.documents import Documents
from opencrab.ports.learning import load_current_learning_data


def find_experiment_subject(
    facts: Documents, agent_id: str, text: str, now: datetime
) -> LearnedSubject:
    """Return the subject that a text names; raises Invalid, and NotFound if the agent lacks it."""
    subject = LearnedSubject.of(text)
    if subject.kind is AdjustmentKind.SKILL:
        found = facts.get(agent_id, SKILL, subject.name) is not None
    elif subject == MEMORIES:
        found = True
    elif subject.kind is AdjustmentKind.EXPERIENCE:
        found = has_learned_experience(facts, agent_id, subject.name)
    else:
        measured = load_current_learning_data(facts, agent_id, now).evidence.models
        found = any(key.startswith(f"{subject.name}/") for key in measured)
        found = (
            found
            or mix_of(stored_memory_state_of_agent(facts, agent_id)[1], subject.name) is not None
        )
    if not found:
        raise NotFound(
            f"agent {agent_id!r} has no experiment for {text!r}",
            field="subject",
            cure=f"list them with GET /api/agents/{agent_id}/experiments",
        )
    return subject
