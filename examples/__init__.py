"""Small applications to read and to run; the package knows nothing of them."""
