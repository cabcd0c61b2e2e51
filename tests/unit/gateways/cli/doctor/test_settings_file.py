"""What the doctor says of the settings file on AWS: which counts, or what is wrong with it."""

import pytest

from opencrab.gateways.cli.doctor.server_checks import CheckVerdict, check_setup_by_doctor
from opencrab.gateways.cli.language.sentences import CliLanguage, SentenceCatalog, cli_languages
from tests.contract.example import NOW


@pytest.mark.parametrize("tongue", cli_languages())
@pytest.mark.parametrize(
    ("file", "verdict", "words"),
    [
        ({"version": '"abc"', "problem": "", "cure": ""}, CheckVerdict.WELL, ("abc",)),
        ({"version": "", "problem": "", "cure": ""}, CheckVerdict.WELL, ()),
        (
            {"version": "", "problem": "settings/config.toml:2: wrong", "cure": "mend it"},
            CheckVerdict.WRONG,
            ("settings/config.toml:2: wrong", "mend it", "opencrab config push"),
        ),
    ],
)
def test_it_names_the_version_or_the_problem(
    tongue: CliLanguage, file: dict[str, str], verdict: CheckVerdict, words: tuple[str, ...]
) -> None:
    setup = {"settings_file": file}
    found = [
        each
        for each in check_setup_by_doctor(SentenceCatalog(tongue), setup, NOW)
        if each.name == "settings"
    ]
    (finding,) = found
    assert finding.verdict is verdict
    for word in words:
        assert word in finding.detail + finding.cure
