# SPDX-License-Identifier: Apache-2.0
"""`python -m hlocc`: prints the path, version and attributes of the plugin library."""
import sys

from hlocc import LibraryError, __version__, library_info, library_path


def main():
    print(f"hlocc {__version__}")
    try:
        path = library_path()
        info = library_info(path)
    except LibraryError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"library {path}")
    for key, value in sorted(info.items()):
        shown = ".".join(map(str, value)) if isinstance(value, tuple) else value
        print(f"{key} {shown}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
