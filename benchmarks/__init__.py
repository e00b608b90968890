"""What the filter costs, as ratios inside one run; it does not know what is fast enough.

`python -m benchmarks` prints the table that README quotes.
"""
