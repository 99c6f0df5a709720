"""Round 3: people who did not write a question answer it blind, then judge it."""
