"""Discord's API over HTTP, and the channel that speaks through it."""
