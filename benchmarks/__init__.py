"""Speed as ratios: both sides of each are measured in turn, in one process or one sitting."""
