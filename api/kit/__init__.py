"""Tools without a business word: storage, sealing, time, ids, paging, the wire."""
