"""More than one reply: tools, and channels in which turns take turns."""
