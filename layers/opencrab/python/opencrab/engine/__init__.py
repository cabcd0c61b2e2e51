"""How a turn runs: admission, observe, orient, decide, act, record; delivery and sweep."""
