"""What is true: values and rules, without I/O, clock or randomness."""
