"""Items of the partition `WS#1`, which the tests of the store port write and read."""

from api.kit.storage.store import IfAbsent, Key, Put, Store


async def sks(store: Store, prefix: str = "", **options: object) -> list[str]:
    return [item.key.sk for item in await store.query("WS#1", prefix, **options)]


async def fill(store: Store, *names: str) -> None:
    for first in range(0, len(names), 25):
        await store.write(*(Put(Key("WS#1", sk), {"sk": sk}, IfAbsent()) for sk in names[first : first + 25]))
