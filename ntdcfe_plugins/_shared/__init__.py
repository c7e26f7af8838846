"""Parts that the adapters share; each is written once, here."""
