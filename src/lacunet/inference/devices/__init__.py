"""Devices beside the processor: what an E step asks of them, and the door to each."""
