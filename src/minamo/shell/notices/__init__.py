"""What people are told about a reply, and in which language."""
