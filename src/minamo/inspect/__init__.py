"""Traces, replay and the live page: a stream behaves the same whether or not it is inspected."""
