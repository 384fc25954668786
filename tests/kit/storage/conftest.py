import pytest

from tests.fakes.postgres import PostgresServer


@pytest.fixture(scope="module")
def postgres_database(postgres: PostgresServer) -> str:
    return postgres.make_database()
