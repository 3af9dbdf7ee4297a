"""Several kinds of models whose answers are pooled, weighed by cells that were hidden from them.

`trials` says what is hidden, `candidates` what is learned from the rest, `pool` who gets how much
say, `drawing` draws parameters, for answers that differ as much as these are unsure.

A stack (`stacking`) is weighed by whole rows: how probable is a row? Here the question is another:
given what a row shows, what is the rest of it? Whoever remembers rows too well is good at the first
on rows that it has seen, and bad at the second. So the same weights hold for every row.
"""
