"""What training tells: event files of runs and the console."""
