"""Figures and recommendations from counted calls and judged turns.

The counters themselves are in `domain/usage`, evidence in `domain/learning`.
"""
