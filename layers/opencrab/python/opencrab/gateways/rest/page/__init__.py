"""The page that a browser gets: chat, approvals and an overview, over the public API."""
