"""The evidence p(D|k) for every number of classes k, from one walk over partitions of the cases.

Start with `walk.walk_numbers`, the joint estimate with its errors. `rounds` runs the chains of
`chains`: first it learns weights, then it measures. `levels` relates sums over partitions into m
blocks to the evidence of k classes. `cases` has the data of a walk as blocks need them. The
compiled moves are in `inference/kernels` (`blocks`, `splitting`).
"""
