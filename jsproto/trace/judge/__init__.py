"""The judge checks the facts of the Observer against rules for any client."""
