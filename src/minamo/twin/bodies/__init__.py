"""What the body of a request may hold, by route."""
