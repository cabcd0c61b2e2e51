"""The relay: a process that hears ordinary messages on Discord and brings them to OpenCrab.

What the messages mean is for the engine to say; it only carries them.
"""
