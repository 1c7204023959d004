"""Stands in for the parts of PyFlink that its tests use besides its public classes. Nothing of Flink is copied here."""
