"""The learning report: its numbers, its words in two languages, its files.

What is decided is `engine/learning/nightly`.
"""
