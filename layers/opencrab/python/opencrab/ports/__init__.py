"""What is needed: Protocols and the values that cross them."""
