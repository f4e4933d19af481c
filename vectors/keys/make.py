#!/usr/bin/env python3
"""Makes the test keys of this folder: good ones with the openssl command line, bad ones by hand.

Run it in this folder. Every run makes new keys: the files are committed, so run it only to add one.
Needs: OpenSSL 3 and Python 3.10 or later, nothing else.
"""

import base64
import pathlib
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
BAD = HERE / "bad"
RSA_ENCRYPTION = bytes.fromhex("06092a864886f70d0101010500")  # OID 1.2.840.113549.1.1.1, NULL


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, stderr=subprocess.DEVNULL)


def rsa(name, bits, *options):
    path = HERE / name
    flags = [flag for option in (f"rsa_keygen_bits:{bits}", *options) for flag in ("-pkeyopt", option)]
    openssl("genpkey", "-quiet", "-algorithm", "RSA", *flags, "-out", path)
    return path


def tlv(tag, body):
    """One DER element: tag, definite length, body."""
    if len(body) < 0x80:
        return bytes([tag, len(body)]) + body
    size = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(size)]) + size + body


def integer(value):
    return tlv(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def read_integers(der):
    """The integers of an RSAPrivateKey, in the order of RFC 8017 A.1.2, version first."""

    def read(at):
        length, at = der[at + 1], at + 2
        if length & 0x80:
            size = length & 0x7F
            length, at = int.from_bytes(der[at : at + size], "big"), at + size
        return at, at + length

    at, end = read(0)
    values = []
    while at < end:
        body, at = read(at)
        values.append(int.from_bytes(der[body:at], "big"))
    return values


def write_pem(path, der):
    text = "\n".join(textwrap.wrap(base64.b64encode(der).decode(), 64))
    path.write_text(f"-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n")


def write_key(path, key):
    """A PKCS#8 file of the nine integers of `key`, however inconsistent they are."""
    order = ("version", "n", "e", "d", "p", "q", "d_p", "d_q", "q_inv")
    pkcs1 = tlv(0x30, b"".join(integer(key[part]) for part in order))
    pkcs8 = integer(0) + tlv(0x30, RSA_ENCRYPTION) + tlv(0x04, pkcs1)
    write_pem(path, tlv(0x30, pkcs8))


def write_bad(name, key):
    write_key(BAD / name, key)


def e_and_pi(bits):
    """Both as integers, times 2^bits, rounded down: Taylor's series, and Machin's of arctangents."""
    one = 1 << (bits + 64)
    e, term, i = 0, one, 0
    while term:
        e, i = e + term, i + 1
        term //= i

    def arctan(x):
        power, total, i = one // x, 0, 1
        while power:
            total, power, i = total + (power // i if i % 4 == 1 else -(power // i)), power // (x * x), i + 2
        return total

    return e >> 64, 4 * (4 * arctan(5) - arctan(239)) >> 64


def large():
    """A key of 16,384 bits of two published primes, which no search for them could make in a minute:
    of the groups ffdhe8192 (RFC 7919, A.5) and modp_8192 (RFC 3526, 7)."""
    near_e, near_pi = e_and_pi(8062)
    p, q = (
        (1 << 8192) - (1 << 8128) - 1 + ((near + more) << 64)
        for near, more in ((near_e, 10965728), (near_pi, 4743158)))
    p, q, e = max(p, q), min(p, q), 65537
    d = pow(e, -1, (p - 1) * (q - 1))
    write_key(HERE / "rsa-16384.pem", {
        "version": 0, "n": p * q, "e": e, "d": d, "p": p, "q": q, "d_p": d % (p - 1),
        "d_q": d % (q - 1), "q_inv": pow(q, -1, p)})


def good():
    for bits in (512, 1024, 2048, 3072, 4096, 8192):
        rsa(f"rsa-{bits}.pem", bits)
    rsa("rsa-2047.pem", 2047)
    rsa("rsa-2048-e3.pem", 2048, "rsa_keygen_pubexp:3")
    rsa("rsa-2048-3primes.pem", 2048, "rsa_keygen_primes:3")
    key = HERE / "rsa-2048.pem"
    openssl("rsa", "-in", key, "-traditional", "-out", HERE / "rsa-2048-pkcs1.pem")
    openssl("pkey", "-in", key, "-pubout", "-out", HERE / "rsa-2048.pub.pem")
    openssl("pkcs8", "-topk8", "-in", key, "-v2", "aes-256-cbc", "-passout", "pass:tollgate",
            "-out", HERE / "rsa-2048-encrypted.pem")
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-out", HERE / "ec-p256.pem")
    openssl("genpkey", "-algorithm", "ED25519", "-out", HERE / "ed25519.pem")


def bad():
    BAD.mkdir(exist_ok=True)
    pem = (HERE / "rsa-2048.pem").read_text()
    (BAD / "truncated.pem").write_text("".join(pem.splitlines(keepends=True)[:12]))
    (BAD / "zero-length.der").write_bytes(b"")
    der = subprocess.run(
        ["openssl", "rsa", "-in", HERE / "rsa-2048.pem", "-traditional", "-outform", "DER"],
        check=True, capture_output=True).stdout
    names = ("version", "n", "e", "d", "p", "q", "d_p", "d_q", "q_inv")
    key = dict(zip(names, read_integers(der), strict=True))
    assert key["p"] * key["q"] == key["n"]
    # d = d_p = d_q = 1 fits e = 1: nothing is wrong but the exponent itself.
    write_bad("e1.pem", key | {"e": 1, "d": 1, "d_p": 1, "d_q": 1})
    # p + 1 is even and the product is still n: nothing but the evenness can be blamed first.
    write_bad("even-n.pem", key | {"p": key["p"] + 1, "n": (key["p"] + 1) * key["q"]})
    write_bad("bad-qinv.pem", key | {"q_inv": key["q_inv"] ^ 1})
    write_bad("bad-dp.pem", key | {"d_p": key["d_p"] ^ 2})
    # The primes of this key, the modulus of nothing: odd, of 2048 bits, and not p * q.
    write_bad("pq-swapped-n.pem", key | {"n": key["n"] ^ 2})
    openssl("genpkey", "-quiet", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:9000",
            "-out", BAD / "rsa-9000.pem")


if __name__ == "__main__":
    steps = {"good": good, "large": large, "bad": bad}
    for step in sys.argv[1:] or steps:
        steps[step]()
