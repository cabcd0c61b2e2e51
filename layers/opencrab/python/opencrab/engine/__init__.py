"""How a turn runs: admission; observe, decide, act; close; delivery and sweep."""
