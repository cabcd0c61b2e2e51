"""The init systems that run OpenCrab in the background: systemd on Linux, launchd on macOS.

Which of them a computer has is known by `bootstrap/local`.
"""
