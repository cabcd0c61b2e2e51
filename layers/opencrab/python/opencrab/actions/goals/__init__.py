"""Goals as actions: an agent decides what to reach and says what became of each task.

What follows from that is the engine's (`engine/goals`).
"""
