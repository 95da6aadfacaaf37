"""One file per paper: what to run, and what to make of it.

Here are only their names, so that help need not wait for the files.
"""

PAPERS = {
    "tba": "TBA*: Time-Bounded A* (2009)",
    "tbbfs": "Time-Bounded Best-First Search (2014)",
    "learning": "LRTA*, LSS-LRTA* and daLSS-LRTA* beside HOG2's figures",
    "chapter": "Real-time heuristic search in games (2011): Tables 1-5, Figure 15",
}
"""The files, in the order in which help shows them, and a line on each."""

TO_COME = {
    "dynamic-control": "D LRTA*, PR LRTA* and their relatives (the figures of the 2008 JAIR paper)",
}
"""Papers that people may ask for, and what they are about."""
