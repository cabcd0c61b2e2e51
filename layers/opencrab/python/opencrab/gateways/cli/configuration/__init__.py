"""The configuration: its settings as they are in effect here."""
