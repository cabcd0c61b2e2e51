"""Agents that act unasked: heartbeats, vital signs, events, schedules, due items, the sweep.

Which goal is pursued then is `engine/goals`.
"""
