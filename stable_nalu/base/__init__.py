"""What every room stands on: errors, files, the machine, the command line, names of papers."""
