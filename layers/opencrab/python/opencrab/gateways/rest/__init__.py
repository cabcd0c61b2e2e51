"""REST under /api: routes, keys and problem documents over the engine."""
