"""Agents that act unasked: heartbeats, vital signs, events, schedules, due items, the sweep.

The choice of the goal to pursue is in `engine/goals`.
"""
