"""What is known of providers and models: configuration, prices, limits and price lists.

Nothing here speaks to a model; `catalogue/connection` makes what does.
"""
