"""``python -m evo``."""

from evo.cli import main

if __name__ == "__main__":
    main()
