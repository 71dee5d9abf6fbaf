"""Worlds with known truth and slow oracles, for our tests and for yours."""
