"""Provider dialects, without I/O: conversations to requests, and response bytes to chunks."""
