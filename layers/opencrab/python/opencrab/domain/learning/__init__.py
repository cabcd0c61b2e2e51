"""Evidence, rewards, trials, bandits and changes: how an agent learns what helps it.

The statistics beneath are in `domain/statistics`; when it all runs is `engine/learning`.
"""
