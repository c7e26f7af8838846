"""The search: pure logic that asks for rows and is told answers, and never sees the model."""
