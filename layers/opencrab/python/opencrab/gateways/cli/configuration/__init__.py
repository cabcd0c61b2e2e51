"""The configuration at the terminal: its settings as they are in effect here.

They are read by `settings.py`; limits that were set at run time belong to `usage`.
"""
