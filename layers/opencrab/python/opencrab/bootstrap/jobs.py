"""The kinds of background turns in this product; only who works on them needs to load them."""

from opencrab.engine.consequence import BackgroundJob
from opencrab.engine.learning.report.wording import WordingJob
from opencrab.engine.memory.compaction.turn import SummaryJob
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.work import QuestionJob

JOBS: tuple[BackgroundJob[Runtime, QuestionJob], ...] = (WordingJob(), SummaryJob())
"""A wording is told by its group; a summary is whatever is left, so it stands last."""
