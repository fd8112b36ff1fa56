"""How people end a reply, from this process or another."""
