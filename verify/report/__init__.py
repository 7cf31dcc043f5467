"""What the user reads, one module per format. They read verdicts and know nothing of proofs."""
