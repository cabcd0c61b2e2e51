"""Actions on goals: setting and planning them, and reporting the result of each task.

The engine carries the goals out (`engine/goals`).
"""
