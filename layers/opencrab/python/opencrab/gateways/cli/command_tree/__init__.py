"""The command tree: which commands there are, where help lists them, and what they were called.

It names the functions of commands as text and loads one when it is called.
"""
