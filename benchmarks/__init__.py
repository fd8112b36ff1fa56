"""Measurements of minamo beside the libraries and bots that people use instead.

`python -m benchmarks` runs them; docs/performance.md is written from their results.
"""
