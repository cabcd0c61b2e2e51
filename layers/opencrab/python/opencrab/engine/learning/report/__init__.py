"""The learning report: its numbers, its texts in two languages, its files.

The decisions that it reports are made in `engine/learning/nightly`.
"""
