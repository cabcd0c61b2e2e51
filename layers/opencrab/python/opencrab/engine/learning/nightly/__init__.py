"""The nightly review: when it is due, and its steps for models, skills and experiences.

The report on it is `engine/learning/report`.
"""
