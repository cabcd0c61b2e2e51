"""The stored forms of each release: what rows it wrote look like, and whether other releases read them."""
