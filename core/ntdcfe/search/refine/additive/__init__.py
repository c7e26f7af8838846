"""Near the boundary what single cells do adds up: it is measured there, and the least costly sum is solved for."""
