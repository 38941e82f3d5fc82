"""The arena: units beside other families of models, on formulas, with equal CPU time."""
