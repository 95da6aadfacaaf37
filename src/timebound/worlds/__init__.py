"""What is searched: grids, graphs, puzzles; their files, generators and edits."""
