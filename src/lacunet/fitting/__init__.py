"""Learning: EM (MAP and ML), random starts, acceleration, stopping, and what to say of a fit."""
