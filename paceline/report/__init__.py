"""Tables (and, in time, charts and pages) from what is recorded."""
