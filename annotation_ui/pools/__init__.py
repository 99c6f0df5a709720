"""Pools of scores: bringing them in, looking at them, subsets, estimates; with what is kept of all that."""
