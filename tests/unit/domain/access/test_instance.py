"""The proof that a server serves a data folder: for its secret and this challenge alone."""

import pytest

from opencrab.domain.access.instance import instance_access_proof, is_instance_access_proof


def test_the_answer_to_a_challenge_is_that_of_the_secret() -> None:
    proof = instance_access_proof("secret", "challenge")
    assert is_instance_access_proof(proof, "secret", "challenge")
    assert "secret" not in proof
    assert not is_instance_access_proof(proof, "secret", "challenge2")
    assert not is_instance_access_proof(proof, "other", "challenge")


@pytest.mark.parametrize("proof", [None, "", 1, [], "é", "\ud800", "0" * 64])
def test_nothing_else_is_a_proof(proof: object) -> None:
    assert not is_instance_access_proof(proof, "secret", "challenge")
