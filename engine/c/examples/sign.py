"""Signs with libtollgate from Python: python3 sign.py key.pem [libtollgate.so.1]"""
import ctypes as c
import hashlib
import sys

lib = c.CDLL(sys.argv[2] if len(sys.argv) > 2 else "libtollgate.so.1")
lib.tollgate_last_error.restype = c.c_char_p
lib.tollgate_private_key_size.restype = c.c_size_t
lib.tollgate_private_key_size.argtypes = [c.c_void_p]


class Scheme(c.Structure):
    _fields_ = [(name, c.c_int) for name in ("kind", "hash", "mgf_hash", "salt")] + [
        ("salt_len", c.c_size_t), ("label", c.c_char_p), ("label_len", c.c_size_t)]


def check(code):
    if code != 0:
        sys.exit("sign: " + lib.tollgate_last_error().decode())


pem, key, pss = open(sys.argv[1], "rb").read(), c.c_void_p(), Scheme(kind=2, hash=3)
check(lib.tollgate_private_key_from_pem(pem, c.c_size_t(len(pem)), c.byref(key)))
digest, size = hashlib.sha256(b"a message").digest(), lib.tollgate_private_key_size(key)
signature = c.create_string_buffer(size)
check(lib.tollgate_sign(key, c.byref(pss), digest, c.c_size_t(32), signature, c.c_size_t(size)))
check(lib.tollgate_private_key_free(key))
print(signature.raw.hex())
