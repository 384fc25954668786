import asyncio

from api.http.server.corked_transport import FEW, LARGE, CorkedTransport
from api.http.server.send_watch import SendWatch

HEAD, BODY = b"HTTP/1.1 200 OK\r\n\r\n", b"body"


class RecordingTransport(asyncio.Transport):
    """Remembers what is written, call by call."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.closed:
            raise RuntimeError("the handler is closed")  # as in uvloop
        self.written.append(bytes(data))

    def resume_reading(self) -> None:
        if self.closed:
            raise RuntimeError("the handler is closed")

    def writelines(self, list_of_data: object) -> None:
        self.written.append(b"".join(list_of_data))  # type: ignore[call-overload]

    def get_write_buffer_size(self) -> int:
        return 0

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


def corked(served: int) -> tuple[CorkedTransport, RecordingTransport]:
    wire = RecordingTransport()
    loop = asyncio.get_running_loop()
    return CorkedTransport(wire, loop, range(served), SendWatch(wire, loop, 30)), wire


async def test_head_and_body_are_written_together() -> None:
    transport, wire = corked(FEW)

    transport.write(HEAD)
    assert wire.written == []
    transport.write(BODY)

    assert wire.written == [HEAD + BODY]


async def test_under_load_responses_are_written_at_the_end_of_the_loop_iteration() -> None:
    transport, wire = corked(FEW + 1)

    transport.write(HEAD)
    transport.write(BODY)
    assert wire.written == []
    await asyncio.sleep(0)

    assert wire.written == [HEAD + BODY]


async def test_a_head_with_a_slow_body_is_written_alone() -> None:
    transport, wire = corked(1)

    transport.write(HEAD)
    await asyncio.sleep(0)
    assert wire.written == [HEAD]
    transport.write(BODY)

    assert wire.written == [HEAD, BODY]


async def test_a_large_body_is_not_copied_and_still_follows_its_head() -> None:
    transport, wire = corked(1)
    large = bytes(LARGE + 1)

    transport.write(HEAD)
    transport.write(large)

    assert wire.written == [HEAD + large]


async def test_corked_bytes_are_written_before_the_connection_closes() -> None:
    transport, wire = corked(FEW + 1)

    transport.write(HEAD)
    transport.close()

    assert wire.written == [HEAD]
    assert wire.closed
    assert transport.is_closing()


async def test_nothing_is_written_twice() -> None:
    transport, wire = corked(1)

    for _ in range(3):
        transport.write(HEAD)
        transport.write(BODY)
        await asyncio.sleep(0)

    assert wire.written == [HEAD + BODY] * 3


async def test_nothing_is_written_to_a_connection_that_has_ended() -> None:
    transport, wire = corked(FEW + 1)

    transport.write(HEAD)
    wire.close()
    transport.write(BODY)
    await asyncio.sleep(0)
    transport.resume_reading()
    transport.close()

    assert wire.written == []
