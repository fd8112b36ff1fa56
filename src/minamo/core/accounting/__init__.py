"""Where every character went: spans, the ledger, and text that waits for its receipt."""
