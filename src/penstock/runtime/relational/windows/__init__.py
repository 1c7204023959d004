"""Windows of time on columns: which windows rows belong to, the slices that windows share, and when windows end."""
