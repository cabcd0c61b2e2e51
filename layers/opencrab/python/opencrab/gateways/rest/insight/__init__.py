"""Routes for analytics, histories, panes and what-if.

Nothing here changes an agent.
"""
