"""The kinds of background turns in this product; only their workers need to load them."""

from opencrab.engine.autonomy.instruction_plan_job import InstructionPlanJob
from opencrab.engine.consequence import BackgroundJob
from opencrab.engine.learning.report.wording import WordingJob
from opencrab.engine.memory.compaction.turn import SummaryJob
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.work import QuestionJob

JOBS: tuple[BackgroundJob[Runtime, QuestionJob], ...] = (
    WordingJob(),
    InstructionPlanJob(),
    SummaryJob(),
)
"""All jobs; the summary job accepts every remaining turn, so it comes last."""
