"""One file per paper: what to run, and what to make of it."""
