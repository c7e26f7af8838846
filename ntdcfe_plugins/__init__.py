"""Adapters of the ntdcfe engine; import the one you need, e.g. ``ntdcfe_plugins.sktime``."""
