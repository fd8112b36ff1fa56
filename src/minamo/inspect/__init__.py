"""Inspection of streams: traces, replay, and the live page.

Code here only observes. A stream must behave the same whether or not it is inspected.
"""
