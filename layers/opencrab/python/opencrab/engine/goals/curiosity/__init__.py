"""Curiosity's goals: what an agent does not know yet, and one question about it."""
