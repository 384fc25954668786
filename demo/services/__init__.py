"""The APIs of the five services, with made-up data and the rules of each vendor's contract."""
