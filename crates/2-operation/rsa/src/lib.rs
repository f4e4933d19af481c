//! RSA private and public operations: keys, CRT, blinding, fault check, paddings.
