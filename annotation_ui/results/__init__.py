"""Results: which questions they are about, the numbers as they are kept, and the responses behind them."""
