"""Training as emitted C++ with one run in each vector lane."""
