"""The getrandom specification on calls worked out by hand."""

from specs import chacha20
from specs.getrandom import getrandom
from specs.getrandom_world import Answer, Call, Port, Script, SystemCall, buffer_after
from specs.opaque_state import decode, encode, zeroed
from specs.values import INT_VALUES

PORT = Port(bits=64, byte_order="little", page_bytes=4096)
KEY = bytes(range(1, 33))
KEY_WORDS = tuple(int.from_bytes(KEY[4 * i : 4 * i + 4], "little") for i in range(8))


def test_first_call_on_a_zeroed_state() -> None:
    call = Call(buffer=0x5000, len=40, flags=0, opaque_state=0x1000, opaque_len=144)
    world = Script(is_ready=[1], generations=[7], answers=[Answer(32, tuple(KEY))])
    outcome = getrandom(INT_VALUES, PORT, call, zeroed(INT_VALUES), world)
    stream = chacha20.stream(KEY_WORDS, 0, 2)
    assert outcome.result == 40
    assert outcome.system_calls == (SystemCall(0x1060, 32, 0),)
    assert buffer_after(bytes(42), outcome.writes) == stream[:40] + bytes(2)
    memory = bytes(40) + stream[40:] + (7).to_bytes(8, "little") + bytes((40, 0)) + bytes(6)
    assert encode(outcome.state, "little") == memory
    assert decode(memory, "little") == outcome.state
