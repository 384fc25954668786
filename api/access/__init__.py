"""Authentication: who calls, for which workspace, with which rights."""
