"""``python -m arcflux`` is ``arcflux``."""

from arcflux.cli import main

if __name__ == "__main__":
    main()
