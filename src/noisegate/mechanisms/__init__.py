"""How one raw count becomes one published value, and what that promises and gives away."""
