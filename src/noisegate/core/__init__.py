"""The mathematics: NumPy, SciPy and Numba, no input or output."""
