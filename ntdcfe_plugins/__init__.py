"""Adapters of the ntdcfe engine, one package an ecosystem; import the one you need, e.g. ``ntdcfe_plugins.sktime``."""
