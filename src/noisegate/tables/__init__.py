"""What a table is: dimensions, the public domain, margins, and what a question selects."""
