"""Makes the files of a release: wheel, lock file, SBOM and checksums. The same commit makes the same bytes."""
