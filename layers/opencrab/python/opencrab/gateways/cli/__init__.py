"""The terminal: commands for people and scripts, speaking to OpenCrab over its REST interface."""
