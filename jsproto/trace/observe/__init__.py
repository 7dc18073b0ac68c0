"""The Observer: a passive ledger over both directions of any client's traffic."""
