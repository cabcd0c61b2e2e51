"""Goals, plans and tasks: their states, priorities, conditions and expected value.

What a turn's end means for a goal is `engine/goals`.
"""
