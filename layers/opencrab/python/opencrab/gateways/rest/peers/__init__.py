"""Routes for agents that meet: which other agents an agent may reach.

What an agent thinks of others is `gateways/rest/memory`.
"""
