"""Refinement: what was found, made cheaper."""
