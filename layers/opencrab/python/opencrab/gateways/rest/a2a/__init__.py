"""A2A: other agents' programs send tasks to agents of this installation.

A task is a turn and a context is a session; whatever is done passes the rules of REST.
"""
