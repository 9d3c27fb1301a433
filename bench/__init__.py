"""Benchmarks: the same work, side by side in one run. `make bench` writes docs/benchmarks.md."""
