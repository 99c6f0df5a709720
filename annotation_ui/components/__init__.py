"""Pieces of pages that run in the browser."""

from importlib.resources import files

# Scripts are read as text and put together: nothing is imported in the browser, so that no build step is needed.
DOM = files(__package__).joinpath("dom.js").read_text(encoding="utf-8")
"""A script of small tools that several pieces begin with."""
