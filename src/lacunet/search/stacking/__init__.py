"""Several kinds of models of one table, weighed by what they say of rows that are held out.

`blocks` says what is held out, `recipes` what is learned from the rest, `weights` who gets how much
say, `stack` puts them together.
"""
