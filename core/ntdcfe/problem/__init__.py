"""What is given: features, target, constraints, objective, and the states that a series may take. Numpy only."""
