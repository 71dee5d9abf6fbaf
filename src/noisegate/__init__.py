"""noisegate: make private count releases properly, and take published count tables apart."""
