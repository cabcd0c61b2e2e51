"""Goals: instructions, plans, the goal queue, generation, and the effects of a turn's end.

The turn that works on a task is run by `engine/turn`.
"""
