"""WebSocket: sessions watched live and spoken in, over one connection."""
