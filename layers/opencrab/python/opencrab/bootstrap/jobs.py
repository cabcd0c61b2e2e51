"""The kinds of background turns in this product, loaded when a worker looks for one."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencrab.engine.consequence import BackgroundJob
    from opencrab.engine.runtime import Runtime
    from opencrab.engine.turn.work import QuestionJob


class _Jobs:
    """All jobs; the summary job accepts every remaining turn, so it comes last."""

    def __iter__(self) -> "Iterator[BackgroundJob[Runtime, QuestionJob]]":
        from opencrab.engine.autonomy.instruction_plan_job import InstructionPlanJob
        from opencrab.engine.learning.report.wording import WordingJob
        from opencrab.engine.memory.compaction.turn import SummaryJob

        yield from (WordingJob(), InstructionPlanJob(), SummaryJob())


JOBS: "Iterable[BackgroundJob[Runtime, QuestionJob]]" = _Jobs()
