"""Changes of the real template, each of which breaks exactly one rule: at least one for each."""

from tests.template.mutations_keeping import ACCESS, DATA
from tests.template.mutations_page import PAGE
from tests.template.mutations_running import FUNCTIONS, QUEUES, STREAMS

MUTATIONS = (*QUEUES, *STREAMS, *FUNCTIONS, *ACCESS, *DATA, *PAGE)
