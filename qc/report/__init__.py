"""The report of quality control: how far items came and why, and what the numbers behind that are worth."""
