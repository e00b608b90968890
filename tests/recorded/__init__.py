"""What a real llama.cpp server sent; `record.py` made the files, `recordings.py` reads them."""
