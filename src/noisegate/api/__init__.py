"""The public functions, every job of the command line for Python; `noisegate` itself hands them out."""
