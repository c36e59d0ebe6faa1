"""Turns foreign recordings (runs, logs, curves, dumps, GPU figures) into our JSON lines. One module a kind of source."""
