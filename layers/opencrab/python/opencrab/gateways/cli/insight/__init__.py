"""Analytics, histories, panes and what-if at the terminal.

Everything is asked of the server over REST.
"""
