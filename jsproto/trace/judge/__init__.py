"""The judge of any client: rules over the facts of the Observer."""
