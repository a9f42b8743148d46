"""A conversation through pipes: what ends when its end is wished."""

import sys
from threading import Thread

from orchestrator.fleet.frames import Frame
from orchestrator.fleet.transports.pipe import PipeConversation

FROZEN = (sys.executable, "-c", "import time; time.sleep(600)")


def test_a_frozen_program_is_ended_though_a_frame_waits_for_it() -> None:
    conversation = PipeConversation(FROZEN, patience_s=0.05)
    sending = Thread(target=conversation.send, args=[Frame(b"{}", bytes(1 << 20))], daemon=True)
    sending.start()
    sending.join(0.1)
    assert sending.is_alive()
    ending = Thread(target=conversation.end, daemon=True)
    ending.start()
    ending.join(10)
    sending.join(10)
    assert not ending.is_alive()
    assert not sending.is_alive()
    assert conversation.receive() is None
