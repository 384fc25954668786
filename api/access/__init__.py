"""Who calls, for which workspace, with which rights."""
