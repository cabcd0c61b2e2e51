"""Skills as somebody taught them, at two times."""

from datetime import UTC, datetime

from opencrab.domain.skills.lifecycle import SkillTeaching, skill_lesson, teach_learned_skill
from opencrab.domain.skills.skill import AcquiredSkill, Effectiveness, SourceType

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
LATER = datetime(2026, 2, 18, 9, 0, tzinfo=UTC)
HELPS = Effectiveness(points=12, low=3, high=21, turns=90)
OWN = SkillTeaching(
    source_type=SourceType.EXPERIENCE, taught_by="owner", turn_id="t1", vouched=True
)
FOREIGN = OWN.replaced(vouched=False, taught_by="stranger")


def taught(
    stored: AcquiredSkill | None = None, teaching: SkillTeaching = OWN, text: str = "Ask why."
) -> AcquiredSkill:
    """A skill after somebody taught it."""
    return teach_learned_skill(
        stored, skill_lesson("good-questions", "質問のしかた", guidance=text), teaching, NOW
    )
