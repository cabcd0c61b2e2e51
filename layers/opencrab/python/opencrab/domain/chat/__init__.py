"""Chat services such as LINE: who is who there, and what their events say.

Discord, with servers, roles and commands, has a folder of its own.
"""
