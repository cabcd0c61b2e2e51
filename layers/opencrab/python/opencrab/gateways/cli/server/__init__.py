"""The server: the command that runs it on this computer.

How it runs is known by `bootstrap/local`.
"""
