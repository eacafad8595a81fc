"""What the sources of the reference BLAS and LAPACK say about arguments, and how rows differ."""
