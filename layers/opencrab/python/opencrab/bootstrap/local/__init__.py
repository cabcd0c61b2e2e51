"""The composition for this machine: the `opencrab` command and what it starts.

Nothing here loads a part of AWS.
"""
