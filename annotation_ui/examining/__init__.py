"""Exams: those who sit them and those who hold them, with the mistakes that they can meet in their language."""
