"""What scripts rely on: exit codes, errors as text or JSON, and texts from standard input.

A script decides by an exit code or by an error's type, never by a sentence.
"""
