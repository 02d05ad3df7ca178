"""Search over plain tunable parameters: a space of SetTunable genes, its encoding, and the search itself."""
