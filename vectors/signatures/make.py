"""Makes the files beside it, and that of OAEP, from PyPI's cryptography-vectors (a wheel, the one argument).

Each becomes lines `name = hexadecimal`, blocks apart by an empty line: a block with `n` is a key, any
other a case of the last key. Numbers lose their leading zeros, what no test reads is left out.
"""

import re
import sys
import zipfile
from pathlib import Path

WHEEL = sys.argv[1]
HERE = Path(__file__).parent
LICENCE = "Of PyPI cryptography-vectors 50.0.2, Apache-2.0 OR BSD-3-Clause: "
FOLDER = "cryptography_vectors/asymmetric/RSA/"


def read(name):
    with zipfile.ZipFile(WHEEL) as wheel:
        return wheel.read(FOLDER + name).decode("ascii", "replace")


def number(digits):
    digits = digits.strip().lower().lstrip("0") or "0"
    return digits if len(digits) % 2 == 0 else "0" + digits


def write(name, source, what, blocks):
    lines = [f"# {LICENCE}{source}", f"# {what}", "# Made by make.py.", ""]
    for block in blocks:
        lines += [f"{key} = {value}" for key, value in block] + [""]
    (HERE / name).write_text("\n".join(lines).rstrip() + "\n")


def nist(name, source, bits_max=4096):
    """Cases of NIST's response files: the first of each size, hash function and result."""
    blocks, seen, key, case = [], set(), {}, {}
    text, written = read(source), None
    has_result = "Result = " in text
    needed = {"msg", "s"} | ({"salt"} if "SaltVal = " in text else set())
    needed |= {"result"} if has_result else set()
    for line in text.splitlines():
        if " = " not in line or line.startswith(("#", "[", "EM", "IR")):
            continue
        field, value = (part.strip() for part in line.split(" = ", 1))
        if field == "n":
            key, case = {"n": number(value)}, {}
        elif field in ("e", "d"):
            key[field] = number(value)
        elif field in ("p", "q"):
            continue
        elif field == "SHAAlg":
            case = {"hash": value}
        elif field == "Msg":
            case["msg"] = value.lower()
        elif field == "S":
            case["s"] = value.lower()
        elif field == "SaltVal":
            case["salt"] = value.lower()
        elif field == "Result":
            case["result"] = re.match(r"P|F \(\d", value).group().replace(" (", "")
        if not needed <= case.keys():
            continue
        kind = (len(key["n"]), case["hash"], case.get("result"))
        if kind not in seen and 4 * len(key["n"]) <= bits_max:
            seen.add(kind)
            of = [("n", key["n"]), ("e", key["e"])]
            if not has_result and "d" in key:
                of.append(("d", key["d"]))
            if of != written:
                blocks.append(of)
                written = of
            if "15" in name:
                case.pop("salt", None)
            blocks.append(list(case.items()))
        case = {}
    write(name, source, "NIST CAVP; of each size, hash function and result the first.", blocks)


FIELDS = {
    "Modulus": "n",
    "Public exponent": "e",
    "Exponent": "d",
    "Prime 1": "p",
    "Prime 2": "q",
    "Prime exponent 1": "d_p",
    "Prime exponent 2": "d_q",
    "Coefficient": "q_inv",
    "Message to be signed": "msg",
    "Message": "msg",
    "Salt": "salt",
    "Seed": "seed",
    "Signature": "s",
    "Encryption": "c",
}
KEY = ["n", "e", "d", "p", "q", "d_p", "d_q", "q_inv"]


def examples(name, source, per_key, what):
    """RSA Laboratories' examples: titles `# Title:` above lines of hexadecimal bytes."""
    blocks, key, case, field, private = [], {}, {}, None, False
    taken = 0

    def close():
        nonlocal case, taken
        if case and taken < per_key:
            blocks.append([(name, "".join(value)) for name, value in case.items()])
            taken += 1
        case = {}

    for line in read(source).splitlines() + ["# Example"]:
        line = line.strip()
        if re.match(r"# Example|# (PSS|OAEP|PKCS#1 v1.5 Signature) Example", line):
            close()
            field = None
            if line.startswith("# Example"):
                key, private, taken = {}, False, 0
        elif line == "# Private key":
            private = True
        elif line.startswith("#"):
            field = FIELDS.get(line.strip("# :"))
            if field in KEY and not private:
                field = None
            if field == "msg" and key:
                blocks.append([(name, number("".join(key[name]))) for name in KEY])
                key = {}
            if field and field not in KEY:
                case[field] = []
            elif field:
                key[field] = []
        elif field:
            (key if field in KEY else case)[field].append(line.replace(" ", ""))
    write(name, source, what, blocks)


FIPS = "FIPS_186-2/"
nist("sig-gen-15.txt", FIPS + "SigGen15_186-2.txt")
nist("sig-gen-pss.txt", FIPS + "SigGenPSS_186-2.txt")
nist("sig-gen-15-186-3.txt", FIPS + "SigGen15_186-3.rsp")
nist("sig-gen-pss-186-3.txt", FIPS + "SigGenPSS_186-3.rsp")
nist("sig-ver-15.txt", FIPS + "SigVer15_186-3.rsp", 2048)
nist("sig-ver-15-em.txt", "SigVer15EMTest.txt")
nist("sig-ver-pss.txt", FIPS + "SigVerPSS_186-3.rsp", 2048)
PKCS = "pkcs-1v2-1d2-vec/"
LABS = "RSA Laboratories, examples of PKCS#1 v2.1, SHA-1"
examples("pkcs1-15.txt", "pkcs1v15sign-vectors.txt", 2, "After " + LABS + "; two of each key.")
examples("pkcs1-pss.txt", PKCS + "pss-vect.txt", 6, LABS + ".")
examples("../decryption/pkcs1-oaep.txt", PKCS + "oaep-vect.txt", 6, LABS + ".")
