"""Routes for agents that meet: which other agents an agent may reach."""
