"""Actions on models: choosing, measuring and grading the models that an agent uses.

The routing of calls is in `engine/models`.
"""
