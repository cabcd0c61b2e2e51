"""The server: run it on this computer."""
