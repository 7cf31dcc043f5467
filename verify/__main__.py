"""`python -m verify` is `vdso-verify`."""

from verify.cli import main

if __name__ == "__main__":
    main()
