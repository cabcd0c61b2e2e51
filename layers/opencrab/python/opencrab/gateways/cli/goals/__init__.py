"""Goals and instructions at the terminal, with the panel that follows them.

Everything is asked of the server over REST.
"""
