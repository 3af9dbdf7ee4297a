"""What CH96 names beside what it uses: other ways up, other ways to the Hessian."""
