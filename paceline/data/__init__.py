"""Data: where it lies, how it is fetched and checked, what it holds, and how batches are drawn from it."""
