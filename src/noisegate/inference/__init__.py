"""What published tables tell of the counts behind them: posteriors of cells and of sums."""
