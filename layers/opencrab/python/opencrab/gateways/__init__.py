"""How the world gets in: REST, the terminal, and the local runner that serves both."""
