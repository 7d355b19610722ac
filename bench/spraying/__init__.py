"""Which TCP senders survive packets sprayed over several paths."""
