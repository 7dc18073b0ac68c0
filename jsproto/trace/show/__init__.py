"""A trace for the eye: ladder, summary, view, and diagrams of machines."""
