"""When an agent acts unasked: vital signs, the heartbeat's gate, schedules, curiosity.

What it wants then is `domain/goals`.
"""
