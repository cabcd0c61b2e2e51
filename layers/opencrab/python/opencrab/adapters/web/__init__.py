"""Pages of the web that an operator allowed, and search services."""
