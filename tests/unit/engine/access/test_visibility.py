"""What a refused caller is told: what it was that the key may not read."""

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.policy import Area
from opencrab.domain.access.principal import Principal
from opencrab.domain.errors import Refused
from opencrab.engine.access.visibility import require_access_to_agent


@pytest.mark.parametrize(
    ("area", "told"), [(Area.METRICS, "counts and costs"), (Area.AGENT, "is set up")]
)
def test_a_refusal_names_what_the_key_may_not_read(area: Area, told: str) -> None:
    person = Principal(id="hanako", name="花子", scope=Scope.CHAT)
    with pytest.raises(Refused, match=told):
        require_access_to_agent(person, "crab", area)
