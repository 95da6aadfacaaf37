"""The obvious, slow versions: dictionaries, heapq and recursion, written from the textbook, without the kernels."""
