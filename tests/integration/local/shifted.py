"""The `opencrab` command at another time: `python -m tests.integration.local.shifted SECONDS up`.

Its clock is so many seconds ahead of the machine's and goes on from there, so that a night comes
whenever a test wants one. Durations are measured as ever.
"""

import sys
from datetime import timedelta

from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap import main


def run_ahead(seconds: float) -> None:
    """Be the command of this process, so many seconds ahead."""
    import time_machine  # noqa: PLC0415 - whoever only forks this needs it not

    there = SystemClock().now() + timedelta(seconds=seconds)
    # Without its zone, so that the process keeps its own; time-machine takes it as UTC.
    with time_machine.travel(there.replace(tzinfo=None), tick=True):
        main()


if __name__ == "__main__":
    run_ahead(float(sys.argv.pop(1)))
