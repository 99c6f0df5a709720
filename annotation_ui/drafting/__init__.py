"""Writing questions: drafts that save themselves, live checks, handing in, twins."""
