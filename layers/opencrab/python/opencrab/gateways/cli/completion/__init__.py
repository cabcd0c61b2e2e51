"""Completion in bash, zsh and fish: their scripts, and what can follow what is typed.

Which commands there are is known by `command_tree`; names of agents are asked of the server.
"""
