"""The place of the Google ADK bridge, which is not built: the package holds its version and nothing else."""

__version__ = "0.1.0"
