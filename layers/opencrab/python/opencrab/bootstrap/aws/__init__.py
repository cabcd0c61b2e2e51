"""The composition for AWS: what each Lambda function is made of.

Nothing here is loaded on a person's own machine.
"""
