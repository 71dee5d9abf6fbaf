"""The command line: options in, tables and files out; no science."""
