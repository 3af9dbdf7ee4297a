"""What scores share: their contract, where they are taken, modes, labels, occupancy."""
