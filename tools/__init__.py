"""What the maintainers make of the package: the page of results, the gallery, generated files."""
