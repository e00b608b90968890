"""The live demonstration of citestream; the package itself does not know it."""
