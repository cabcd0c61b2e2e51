"""The stored forms of each release: rows that it wrote, and whether other releases read them."""
