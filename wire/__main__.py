"""`python -m brokertrial.wire produce 9 request` prints the generated source; without arguments, the APIs."""

import sys

from brokertrial.wire import apis
from brokertrial.wire.codec import source_text


def main(arguments: list[str]) -> int:
    if len(arguments) != 3:
        print("usage: python -m brokertrial.wire API VERSION request|response\n")
        for api in apis.ALL:
            print(f"{api.key:>4}  {api.name:<32} {api.min_version}-{api.max_version}")
        return 4
    names = {api.name.lower(): api.name for api in apis.ALL}
    name = names.get(arguments[0].lower().replace("_", ""), arguments[0])
    try:
        print(source_text(name, arguments[2], int(arguments[1])), end="")
    except (LookupError, ValueError) as wrong:
        print(f"wire: {wrong}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
