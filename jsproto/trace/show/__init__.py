"""Shows a trace to a person: ladder, summary, view, and diagrams of machines."""
