"""Read-only views of agents for people: costs, analytics, history, experiments, what-if.

Nothing here changes an agent.
"""
