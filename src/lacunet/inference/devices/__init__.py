"""GPU devices for E steps: the interface (`device.py`) and its CUDA implementation (`cuda.py`)."""
