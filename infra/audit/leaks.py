"""Finds secrets in files, by the prefixes that vendors give them and by their entropy."""

import hashlib
import math
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

# Where a vendor marks its secrets, the mark is enough. The mark comes first, and what may not stand
# before it is looked at then: a search for fixed letters takes a tenth of the time.
MARKED = {
    "AWS access key": r"A[KS]IA(?<![A-Z0-9]A[KS]IA)[A-Z2-7]{16}(?![A-Z0-9])",
    "Anthropic key": r"sk-ant-[\w-]{20,}",
    "OpenAI or OpenRouter key": r"sk-(?<![\w-]sk-)(?:proj-|or-v1-|svcacct-)?[A-Za-z0-9]{32,}",
    "Google key": r"AIza[\w-]{35}",
    "GitHub token": r"(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{40,})",
    "Slack token": r"xox[abprs]-[\w-]{10,}",
    "Discord bot token": r"[MNO](?<![\w.-][MNO])[A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}"
    r"(?![\w.-])",
    "private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\s*(?:\\n)?[A-Za-z0-9+/]{16}",
    "JSON web token": r"eyJ(?<![\w.]eyJ)[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",
}
# Elsewhere: something named like a secret gets a value that looks drawn at random. The value is
# looked for first, and its name in what stands before it: to look for names takes thrice as long.
_VALUE = r"[:=]\s*[bfr]?[\"']?([A-Za-z0-9+/_=.-]{20,})(?![\w(\[])"
_VALUED = re.compile(_VALUE, re.IGNORECASE)
_NAMED = re.compile(
    r"(?i)(?:secret|token|passw(?:or)?d|api_?key|access_?key|private_?key|credential)[\w.-]*"
    rf"[\"']?\s*(?::\s*str\s*)?{_VALUE}"
)
_LONGEST_NAME = 200
# Words and repeated digits stay below; 20 random hexadecimal digits are above.
MIN_BITS_PER_CHARACTER = 3.5
_RULES = {name: re.compile(pattern) for name, pattern in MARKED.items()}
_BINARY = frozenset({".png", ".jpg", ".gz", ".zip", ".db", ".woff2", ".ico"})


@dataclass(frozen=True)
class Leak:
    """A probable secret: where it is and what kind, never the secret itself."""

    path: str
    line: int
    kind: str
    fingerprint: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind} (fingerprint {self.fingerprint})"


def find_leaks(path: str, text: str) -> Iterator[Leak]:
    """Every probable secret of `text`."""
    for kind, rule in _RULES.items():
        for match in rule.finditer(text):
            yield _leak(path, text, match.start(), kind, match.group())
    for at, value in _named_values(text):
        digits = any(each.isdigit() for each in value)
        if digits and entropy(value) >= MIN_BITS_PER_CHARACTER:
            yield _leak(path, text, at, "value of high entropy", value)


def _named_values(text: str) -> Iterator[tuple[int, str]]:
    """Where the name of each value begins that is named like a secret, and the value."""
    seen = 0
    for valued in _VALUED.finditer(text):
        begin = max(seen, valued.start() - _LONGEST_NAME)
        for match in _NAMED.finditer(text, begin, valued.end()):
            yield match.start(), match.group(1)
            seen = match.end()


def entropy(text: str) -> float:
    """Shannon entropy of the characters of `text`, in bits per character."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)


def tracked_files(root: Path) -> Iterator[tuple[str, str]]:
    """Path and text of each file that git keeps below `root`, as it is on disk."""
    for name in _git(root, "ls-files", "-z").decode().split("\0"):
        path = root / name
        if name and path.suffix not in _BINARY and path.is_file() and not path.is_symlink():
            yield name, path.read_bytes().decode("utf-8", "replace")


def added_lines(root: Path) -> Iterator[tuple[str, str]]:
    """Path and added text of each file in each commit: what a deletion later does not take back."""
    log = _git(root, "log", "-p", "--unified=0", "--no-color", "--no-ext-diff", "--format=")
    path, lines = "", list[str]()
    for line in log.decode("utf-8", "replace").splitlines():
        if line.startswith("+++ "):
            if lines:
                yield path, "\n".join(lines)
            path, lines = line[4:].removeprefix("b/"), []
        elif line.startswith("+"):
            lines.append(line[1:])
    if lines:
        yield path, "\n".join(lines)


def judge(leaks: Iterable[Leak], accepted: Iterable[Mapping[str, str]]) -> list[str]:
    """One line for each leak that nobody accepted, and for each acceptance that nothing needs."""
    reasons = {each["fingerprint"]: each for each in accepted}
    found = list(dict.fromkeys(leaks))
    cure = "revoke it, or accept it with its reason in infra/audit/audit.toml"
    lines = [f"{leak}: {cure}" for leak in found if leak.fingerprint not in reasons]
    unused = reasons.keys() - {leak.fingerprint for leak in found}
    lines += [f"{reasons[each]['path']}: {each} is accepted and nowhere" for each in sorted(unused)]
    return lines


def _leak(path: str, text: str, at: int, kind: str, value: str) -> Leak:
    fingerprint = hashlib.sha256(value.encode()).hexdigest()[:16]
    return Leak(path, text.count("\n", 0, at) + 1, kind, fingerprint)


def _git(root: Path, *arguments: str) -> bytes:
    run = subprocess.run(  # noqa: S603  - our own arguments
        ["git", "-c", f"safe.directory={root}", "-c", "core.quotePath=off", *arguments],  # noqa: S607
        cwd=root,
        capture_output=True,
        timeout=120,
        check=True,
    )
    return run.stdout
