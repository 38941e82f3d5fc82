"""Training on images: the loop over epochs and the runs of the image scripts."""
