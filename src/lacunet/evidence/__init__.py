"""The truth: log p(D|S) itself, exactly or sampled with error bars."""
