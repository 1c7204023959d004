"""The format of data that is sent between tasks: bundles of frames with pickled or Arrow bodies."""
