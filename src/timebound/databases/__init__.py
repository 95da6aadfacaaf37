"""What is computed ahead of time, and kept in files."""
