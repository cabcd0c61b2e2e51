"""Where the settings file of an installation on AWS is in its bucket, and how large it may be."""

SETTINGS_KEY = "settings/config.toml"
CHECKED_KEY = "settings/checked.toml"
"""A copy of the last file that was checked, for the case that somebody writes past the check."""

MOST_UPLOADED_BYTES = 262_144
