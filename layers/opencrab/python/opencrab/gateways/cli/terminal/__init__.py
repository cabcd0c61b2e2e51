"""The kit of all commands: their options, what they write, draw and ask, and their errors.

What a single capability says lies in its own room; the texts are in `language`.
"""
