"""Goals: instructions, plans, the queue of tasks, generation, what a turn's end means.

The turn that works on a task is run by `engine/turn`.
"""
