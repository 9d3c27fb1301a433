"""Study -> runs -> packs, and what they will cost."""
