"""Where the time goes: what was measured of it, the tables and sentences of that."""
