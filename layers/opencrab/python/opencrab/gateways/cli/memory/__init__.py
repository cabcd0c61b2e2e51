"""Memory at the terminal: searching, keeping, forgetting, archives.

Everything is asked of the server over REST.
"""
