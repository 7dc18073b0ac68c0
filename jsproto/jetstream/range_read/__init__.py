"""Reading a range of a stream, from one sequence to another, by consumer or by direct gets."""
