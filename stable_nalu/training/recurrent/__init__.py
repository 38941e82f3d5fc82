"""Training of recurrent cells: sums over sequences and numbers written in words."""
