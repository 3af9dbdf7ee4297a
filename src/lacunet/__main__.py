"""`python -m lacunet` is the `lacunet` command."""

from lacunet.cli import main

if __name__ == "__main__":
    main()
