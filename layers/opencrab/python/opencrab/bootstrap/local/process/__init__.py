"""Processes of OpenCrab beside a command: a server that runs as long as the command needs it.

What a server does is composed in `bootstrap/local/command`; when one starts is not decided here.
"""
