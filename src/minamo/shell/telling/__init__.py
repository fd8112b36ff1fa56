"""What is said beside a reply: notices and thoughts, in the reader's language."""
