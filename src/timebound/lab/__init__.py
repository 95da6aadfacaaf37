"""Experiments as data: problems are run, each run is one record, and reports are made from records alone."""
