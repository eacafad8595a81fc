"""Compares rows with the statements of the reference BLAS and LAPACK sources about arguments."""
