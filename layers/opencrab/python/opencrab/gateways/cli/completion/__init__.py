"""Completion in bash, zsh and fish: their scripts, and the values that can follow what is typed."""
