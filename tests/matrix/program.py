#!/usr/bin/env python3
"""The agent on stdin and stdout: JSON-RPC 2.0, one document a line."""

import json
import os
import sys
import time
from pathlib import Path


def answer_to(text: str, embeds: dict) -> dict:
    if "Boil" in text:
        return {"error": {"code": -32000, "message": "The kettle is empty."}}
    if "Wait" in text:
        Path(sys.argv[1]).write_text(str(os.getpid()))
        time.sleep(3600)
    if "hello" in text:
        return {"result": "Hello there"}
    types = [embed["content_type"].partition(";")[0] for embed in embeds.values()]
    return {"result": "It is text/plain" if types == ["text/plain"] else "There is nothing."}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        arguments = request["params"]["arguments"]
        said = answer_to(arguments["prompt"], arguments["context"].get("embeds", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **said}), flush=True)


if __name__ == "__main__":
    main()
