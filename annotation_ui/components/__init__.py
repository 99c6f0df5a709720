"""Pieces of pages that run in the browser."""
