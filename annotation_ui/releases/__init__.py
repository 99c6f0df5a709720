"""Releases: building, checking, sealing and verifying them, and how they leave the project."""
