"""The window operator, which assigns elements to windows, calls triggers, fires and clears windows."""
