"""Views of agents for people: costs, analytics, histories, panes, experiments, what-if.

Nothing here changes an agent.
"""
