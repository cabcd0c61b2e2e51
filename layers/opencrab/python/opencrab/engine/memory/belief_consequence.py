"""What a turn shows about the agent's beliefs: their declared tests, if there are any."""

from opencrab.engine.turn.work import Consequence, TurnWork


class BeliefTestConsequence(Consequence):
    """Checks declared tests when an own turn begins, and after it; others have none to check."""

    def on_begin(self, work: TurnWork) -> None:
        around = work.prompt.around
        if around is not None and around.declared_tests is not None and work.turn.stop is None:
            # Only for agents that have declared a test, and not for every worker.
            from opencrab.engine.memory.declared_tests import (  # noqa: PLC0415
                check_belief_tests_on_begin,
            )

            check_belief_tests_on_begin(work, around.declared_tests)

    def after_close(self, work: TurnWork) -> None:
        around = work.prompt.around
        if around is not None and around.declared_tests is not None:
            from opencrab.engine.memory.declared_tests import (  # noqa: PLC0415
                check_belief_tests_after_close,
            )

            check_belief_tests_after_close(work, around.declared_tests)
