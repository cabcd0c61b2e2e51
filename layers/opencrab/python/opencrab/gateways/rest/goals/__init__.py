"""Routes for goals, plans, tasks and their events.

What they do is `engine/goals`.
"""
