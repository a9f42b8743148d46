"""`kill -9` at each moment of a merge: the same merge again leaves what one merge would have."""

import pytest

pytestmark = pytest.mark.serial
