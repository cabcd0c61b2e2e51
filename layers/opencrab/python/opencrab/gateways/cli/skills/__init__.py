"""Skills at the terminal.

Everything is asked of the server over REST.
"""
