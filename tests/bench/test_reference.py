import pytest

from bench.reference import is_missed, is_slower


@pytest.mark.parametrize(("ratio", "at_most", "expected"), [(1.66, 1.5, True), (1.64, 1.5, False), (9.0, None, False)])
def test_a_limit_is_missed_by_more_than_a_tenth(ratio: float, at_most: float | None, *, expected: bool) -> None:
    assert is_missed({"ratio": ratio, "at_most": at_most}) is expected  # type: ignore[dict-item]


@pytest.mark.parametrize(("ratio", "reference", "expected"), [(2.0, 1.9, False), (2.2, 1.9, True), (2.0, None, True)])
def test_a_miss_counts_if_the_reference_version_is_faster(ratio: float, reference: float, *, expected: bool) -> None:
    assert is_slower(ratio, reference) is expected
