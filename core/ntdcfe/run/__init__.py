"""Many instances of one call: pools, workers, checkpoints."""
