"""What is removed from one segment or rewritten in it, rule by rule."""
