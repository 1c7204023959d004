"""What tasks report to the driver during a run."""
