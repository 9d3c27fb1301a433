"""Answers from tables: pure functions, table in, table out. Imports nothing else of ours."""
