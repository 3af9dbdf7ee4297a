"""One walk over partitions of the cases measures p(D|k) for every number of classes k."""
