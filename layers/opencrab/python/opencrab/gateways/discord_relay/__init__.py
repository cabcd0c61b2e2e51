"""The relay: a process that hears ordinary messages on Discord and brings them to OpenCrab."""
