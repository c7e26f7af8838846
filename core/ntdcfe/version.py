"""The version: part of a checkpoint, since results of two versions may differ."""

__version__ = "0.1.0"
