"""The server: the commands that run it on this computer, in a terminal or in the background.

How it runs is known by `bootstrap/local`.
"""
