"""Models as actions: an agent chooses, measures and grades the models that it thinks with.

Which model a call really goes to is decided in `engine/models`.
"""
