"""How many classes: one walk over partitions of the cases measures p(D|k) for every k.

Let Z_m be the sum over all partitions of N cases into m blocks of Π_blocks Γ(a + n_b)/Γ(a) · L_b,
with L_b the marginal likelihood of a block's leaves. Exactly (docs/explanation/evidence.md),

    p(D|k) = Γ(ka)/Γ(ka + N) Σ_m k!/(k − m)! Z_m,

and Z_1 is known. Chains move between neighbouring numbers of blocks; how readily they do tells the
ratios Z_{m+1}/Z_m. Labels and empty classes are counted by the identity, not by the chains.
"""
