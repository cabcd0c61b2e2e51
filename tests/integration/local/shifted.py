"""The `opencrab` command at another time: `python -m tests.integration.local.shifted SECONDS up`.

Its clock is so many seconds ahead of the machine's and goes on from there, so that a night comes
whenever a test wants one. Durations are measured as ever.
"""

import sys
from datetime import timedelta

import time_machine

from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap import main

if __name__ == "__main__":
    there = SystemClock().now() + timedelta(seconds=float(sys.argv.pop(1)))
    # Without its zone, so that the process keeps its own; time-machine takes it as UTC.
    with time_machine.travel(there.replace(tzinfo=None), tick=True):
        main()
