"""The evidence p(D|k) for every number of classes k, from one walk over partitions of the cases.

Start at `walk.walk_numbers`; `rounds` schedules the chains of `chains`, `levels` has the algebra.
"""
