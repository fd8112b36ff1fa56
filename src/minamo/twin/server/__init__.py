"""The server side of the twin: HTTP and gateway, limits, refusals."""
