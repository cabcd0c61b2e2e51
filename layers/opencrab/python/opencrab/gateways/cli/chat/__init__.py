"""Chat services' setup at the terminal.

Everything is asked of the server over REST; talking to an agent is in `conversation`.
"""
