"""The terminal's sentences, headings and help in Japanese and English.

Words of single commands lie beside these commands.
"""
