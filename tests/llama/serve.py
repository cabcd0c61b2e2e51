"""A real llama.cpp server, run inside the environment that has xllamacpp; ends with its input.

It says `listening on PORT` once it serves. Nothing of OpenCrab is imported here.
"""

import argparse
import importlib
import socket
import sys
from pathlib import Path

SLOTS = 2
MOST_OUTPUT_TOKENS = 512


def main() -> None:
    """Serve a model until nobody holds the other end of standard input."""
    options = argparse.ArgumentParser()
    options.add_argument("model", type=Path)
    options.add_argument("--context-tokens", type=int, required=True)
    options.add_argument("--api-key", default="")
    options.add_argument("--embeddings", action="store_true")
    options.add_argument("--seed", type=int)
    options.add_argument("--dry", action="store_true")
    given = options.parse_args()
    port = free_port()
    running = start(given, port)
    sys.stdout.write(f"listening on {port}\n")
    sys.stdout.flush()
    sys.stdin.read()
    del running


def start(given: argparse.Namespace, port: int) -> object:
    """The server of llama.cpp, with a context of its own for each request that it serves."""
    llama = importlib.import_module("xllamacpp")
    wanted = llama.CommonParams()
    wanted.model.path = str(given.model)
    wanted.model_alias = {"tiny"}
    wanted.hostnames = ["127.0.0.1"]
    wanted.port = port
    wanted.n_parallel = SLOTS
    wanted.n_ctx = given.context_tokens * SLOTS
    wanted.n_predict = MOST_OUTPUT_TOKENS
    wanted.cpuparams.n_threads = 1
    wanted.cpuparams_batch.n_threads = 1
    wanted.use_jinja = True
    wanted.warmup = False
    wanted.ui = False
    wanted.verbosity = -1
    if given.api_key:
        wanted.api_keys = [given.api_key]
    if given.seed is not None:
        # What was computed in another order differs in its last digits, and chance with it.
        wanted.sampling.seed = given.seed
        wanted.cache_prompt = False
    if given.dry:
        # What llama.cpp calls DRY ends the loops that small models run into.
        wanted.sampling.dry_multiplier = 0.8
        wanted.sampling.dry_penalty_last_n = 256
    if given.embeddings:
        wanted.embedding = True
        wanted.pooling_type = llama.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    return llama.Server(wanted)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
