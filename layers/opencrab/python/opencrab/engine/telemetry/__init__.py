"""Telemetry of turns that have ended, for the operator's observability tools.

Spans and their attributes are `domain/telemetry`; the product's own figures are `insight`.
"""
