//! Montgomery kernels, one file each; their contract, dispatch and exponentiation.
