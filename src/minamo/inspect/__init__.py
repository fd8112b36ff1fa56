"""Look at streams: traces, replay, and the live page.

Everything here watches and nothing decides: a stream behaves the same with nobody looking.
"""
