"""Learning as actions: lessons from experience, and the skills that come of them.

Trials and their verdicts are the night's (`engine/learning`).
"""
