#!/usr/bin/env python3
"""Checks the published files of one drawsvc pool. Python 3.9 or later, standard library only.

  verify.py DIR [--key VKEY] [--witness VKEY ...] [--kept FILE ...] [--receipts FILE] [--live] [--output json]
  verify.py --receipt FILE --key VKEY [--draw NAME] [--user USER] [--checkpoint FILE]
  verify.py --vectors vectors.json

It is written from docs/verify/format.md and not from the service's code. bls.py, beside it, is for pools with a
beacon. It exits with 0 when everything holds. When something does not, it exits with 3, and its last line is
"entry N: RULE: text".
"""
import argparse
import base64
import binascii
import bisect
import collections
import functools
import gzip
import hashlib
import hmac
import io
import itertools
import json
import os
import re
import stat
import sys
import zlib
from array import array
from datetime import datetime, timedelta, timezone
from zoneinfo import TZPATH, ZoneInfo, available_timezones


class Finding(Exception):
    def __init__(self, entry, rule, text):
        super().__init__(f"entry {entry}: {rule}: {text}")
        self.entry, self.rule, self.text = entry, rule, text


class Bad(ValueError):
    """Something is not in its one right form."""


def sha(b):
    return hashlib.sha256(b).digest()


# ---- files: regular ones, since a device may have no end and a FIFO keeps its reader waiting ----

NOTE_MAX = 1 << 20  # of a small file of the folder, and of a signed note, in bytes
OWN_MAX = 256 << 20  # of a file that the caller names


def open_regular(path):
    f = open(path, "rb", opener=lambda p, flags: os.open(p, flags | getattr(os, "O_NONBLOCK", 0)))
    if not stat.S_ISREG(os.fstat(f.fileno()).st_mode):
        f.close()
        raise Bad("not a regular file")
    return f


def read_own(path):
    """Reads a file that the caller names."""
    try:
        with open_regular(path) as f:
            b = f.read(OWN_MAX + 1)
    except Bad as e:
        raise Bad(f"{path} is {e}")
    if len(b) > OWN_MAX:
        raise Bad(f"{path} is longer than {OWN_MAX} bytes")
    return b


def split_notes(f):
    """The notes of a file, which one empty line joins."""
    note, gaps = b"", 0
    while line := f.readline(NOTE_MAX + 1):
        gaps += line == b"\n"
        if len(note) + len(line) > NOTE_MAX:
            raise Bad(f"a note is longer than {NOTE_MAX} bytes")
        if gaps == 2:
            yield note
            note, gaps = b"", 0
        else:
            note += line
    if gaps != 1:
        raise Bad("the notes are not joined by one empty line")
    yield note


# ---- signatures: Ed25519 (RFC 8032) and signed notes ----

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(a, b):
    x1, y1, z1, t1 = a
    x2, y2, z2, t2 = b
    aa, bb = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    cc, dd = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    e, f, g, h = bb - aa, dd - cc, dd + cc, bb + aa
    return e * f % P, g * h % P, f * g % P, e * h % P


class Multiples:
    """Multiples of a point that many signatures are checked by: 43 times 64 of them, 6 bits of a factor each."""

    def __init__(self, point):
        self.rows = []
        for _ in range(43):
            row = [(0, 1, 1, 0)]
            while len(row) < 64:
                row.append(add(row[-1], point))
            self.rows.append(row)
            point = add(row[-1], point)

    def times(self, n, result=(0, 1, 1, 0)):
        """The sum of a result and of n times the point, n below 2^258."""
        for row in self.rows:
            if n & 63:
                result = add(result, row[n & 63])
            n >>= 6
        return result


def unpack(b):
    y = int.from_bytes(b, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= P:
        return None
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - x2) % P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


def pack(point):
    x, y, z, _ = point
    inverse = pow(z, -1, P)
    return ((y * inverse % P) | (x * inverse % P & 1) << 255).to_bytes(32, "little")


@functools.lru_cache(maxsize=16)
def multiples_of(key):
    """The multiples of the negative of a key's point, None for what is no key."""
    a = unpack(key)
    return a and Multiples((P - a[0], a[1], 1, P - a[3]))


BASE = Multiples(unpack((4 * pow(5, P - 2, P) % P).to_bytes(32, "little")))


def ed25519(key, message, signature):
    """Says whether s times the base is R and h times the key. A log has many signatures, and few keys."""
    a, s = multiples_of(key), int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or a is None or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    return pack(a.times(h, BASE.times(s))) == signature[:32]


def base64_exact(text, what):
    try:
        b = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Bad(f"{what} is not Base64")
    if base64.b64encode(b).decode() != text:
        raise Bad(f"{what} is not in its one right form")
    return b


class Key:
    """A verifier key: NAME+HASH+BASE64, Ed25519."""

    def __init__(self, text):
        parts = text.split("+", 2)
        if len(parts) != 3 or not parts[0] or re.search(r"\s", parts[0]):
            raise Bad("the key is not NAME+HASH+KEY")
        self.name, body = parts[0], base64_exact(parts[2], "the key")
        self.id = sha(self.name.encode() + b"\n" + body)[:4]
        if parts[1] != self.id.hex() or len(body) != 33 or body[0] != 1:
            raise Bad("the key is no Ed25519 key of its name and hash")
        self.public = body[1:]

    def open(self, signed):
        """The text of a signed note."""
        try:
            whole = signed.decode("utf-8")
        except UnicodeDecodeError:
            raise Bad("the note is not UTF-8")
        split = whole.rfind("\n\n")
        if split < 0 or not whole.endswith("\n") or re.search("[\x00-\x09\x0b-\x1f]", whole):
            raise Bad("the note is malformed")
        text, lines = whole[: split + 1], whole[split + 2:-1].split("\n")
        if len(lines) > 100:
            raise Bad("the note has more than 100 signatures")
        good, seen = 0, set()
        for i, line in enumerate(lines):
            m = re.fullmatch("— ([^\\s+]+) ([^ ]+)", line)
            if not m or line in seen:
                raise Bad("a signature is malformed, or there twice")
            seen.add(line)
            signature = base64_exact(m.group(2), "a signature")
            if len(signature) < 5:
                raise Bad("a signature is too short")
            if m.group(1) == self.name and signature[:4] == self.id:
                if not ed25519(self.public, text.encode(), signature[4:]):
                    raise Bad("the signature of the pool's key is not good")
                if i:
                    raise Bad("the signature of the pool's key is not the first")
                good += 1
        if good != 1:
            raise Bad("the note has no signature of the pool's key, or several")
        return text


class Witness:
    """A witness's verifier key: NAME+HASH+BASE64, Ed25519 for cosignatures with a time (c2sp.org/tlog-cosignature)."""

    def __init__(self, text):
        parts = text.split("+", 2)
        if len(parts) != 3 or not parts[0] or re.search(r"\s", parts[0]):
            raise Bad("the witness's key is not NAME+HASH+KEY")
        self.name, body = parts[0], base64_exact(parts[2], "the witness's key")
        self.id = sha(self.name.encode() + b"\n" + body)[:4]
        if parts[1] != self.id.hex() or len(body) != 33 or body[0] != 4:
            raise Bad("the witness's key is no Ed25519 key for cosignatures of its name and hash")
        self.public = body[1:]

    def time(self, signed):
        """When the witness cosigned a note in its one right form, in seconds since 1970; None if it did not."""
        text, _, lines = signed.decode().rpartition("\n\n")
        for line in lines.split("\n"):
            if not line.startswith(f"— {self.name} "):
                continue
            signature = base64_exact(line.split(" ", 2)[2], "a signature")
            if signature[:4] != self.id:
                continue
            seconds = int.from_bytes(signature[4:12], "big")
            message = f"cosignature/v1\ntime {seconds}\n{text}\n".encode()
            if len(signature) != 76 or not 0 < seconds <= 253402300799 or not ed25519(self.public, message, signature[12:]):
                raise Bad(f"the cosignature of {self.name} is not good")
            return seconds
        return None


# ---- the tree (RFC 6962) ----

class Tree:
    def __init__(self):
        self.size, self.peaks = 0, []

    def add(self, line):
        h, n = sha(b"\x00" + line), self.size
        while n & 1:
            h, n = sha(b"\x01" + self.peaks.pop() + h), n >> 1
        self.peaks.append(h)
        self.size += 1

    def root(self):
        if not self.peaks:
            return sha(b"")
        root = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            root = sha(b"\x01" + peak + root)
        return root


# ---- seeds and numbers ----

def draw_key(seed, commitment, epoch, beacon=bytes(32)):
    return hmac.new(seed, b"drawsvc draw key v1\n" + commitment + epoch.to_bytes(8, "big") + beacon, hashlib.sha256).digest()


class Stream:
    """The numbers of one version."""

    def __init__(self, key, version):
        self.tail, self.counter, self.words = key + version.to_bytes(8, "big"), 0, []

    def word(self):
        if not self.words:
            self.counter += 1
            d = sha(self.counter.to_bytes(4, "big") + self.tail)
            self.words = [int.from_bytes(d[i:i + 8], "big") for i in (0, 8, 16, 24)]
        return self.words.pop(0)

    def below(self, n):
        mask = (1 << (n - 1).bit_length()) - 1
        while True:
            w = self.word() & mask
            if w < n:
                return w


class Beacon:
    """A drand chain: its key, the time of its round 1, and the seconds between two rounds."""

    def __init__(self, key, genesis, period):
        self.key, self.genesis, self.period = bytes.fromhex(key), int(genesis), int(period)
        if self.genesis > ROUND_MAX or not 1 <= self.period <= 86400 or not bls().is_key(self.key):
            raise Bad("the beacon is out of range, or its key is no point of G2")

    def at(self, number):
        """When a round comes, in microseconds."""
        return (self.genesis + (number - 1) * self.period) * 10**6

    def announces(self, number, us):
        return self.at(number) >= us + 2 * self.period * 10**6

    def mixed(self, number, signature):
        """What a round mixes into the keys."""
        if not bls().verify_round(self.key, number, signature):
            raise Bad(f"the signature is not that of round {number}")
        return sha(signature)


ROUND_MAX = 2**36


def bls():
    """The module beside this program."""
    try:
        import bls as module
    except ImportError:
        raise SystemExit("verify.py: the pool has a beacon: put bls.py beside verify.py")
    return module


class Commitment:
    def __init__(self, text):
        m = re.fullmatch(
            "drawsvc commitment v1\norigin ([^\\s+]+/[a-z0-9][a-z0-9._-]{0,63})\nanchor ([0-9a-f]{64})\nepochs ([1-9][0-9]*)\n"
            "epoch-length ([1-9][0-9]*)\nbeacon (?:none|bls-unchained-g1-rfc9380 ([0-9a-f]{192}) (0|[1-9][0-9]*) ([1-9][0-9]*)"
            "(\nstock-while-open yes)?)\nlog ([1-9][0-9]*) ([A-Za-z0-9+/=]{44})\n", text)
        if not m:
            raise Bad("the text is no commitment in its one right form")
        self.origin, self.anchor = m.group(1), bytes.fromhex(m.group(2))
        self.epochs, self.length, self.size = int(m.group(3)), int(m.group(4)), int(m.group(9))
        self.root, self.hash = base64_exact(m.group(10), "the root"), sha(text.encode())
        self.beacon = Beacon(*m.group(5, 6, 7)) if m.group(5) else None
        self.stock_while_open = m.group(8) is not None
        if self.epochs > 65536 or self.length > 2**40 or len(self.root) != 32:
            raise Bad("a member of the commitment is out of range")


def checkpoint(text):
    m = re.fullmatch("([^\n]+)\n([1-9][0-9]{0,18})\n([A-Za-z0-9+/=]{44})\n", text)
    if not m:
        raise Bad("the text is no checkpoint in its one right form")
    return m.group(1), int(m.group(2)), base64_exact(m.group(3), "the root")


# ---- lines ----

ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quote(s):
    return '"' + re.sub('["\\\\\x00-\x1f]', lambda m: ESCAPES.get(m.group(), "\\u%04x" % ord(m.group())), s) + '"'


def encode(value):
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, list):
        return "[" + ",".join(map(encode, value)) + "]"
    return "{" + ",".join(quote(k) + ":" + encode(v) for k, v in value.items()) + "}"


SIGNATURE = re.compile("[0-9a-f]{96}")
ID, TAG, HASH = re.compile("[a-z0-9][a-z0-9._-]{0,63}"), re.compile("[A-Za-z0-9_-]{21}[AQgw]"), re.compile("[0-9a-f]{64}")
VALUE = re.compile(r"(0|[1-9][0-9]{0,11})\.[0-9]{2}")
AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
KINDS = {
    "award": ["prize", "unit", "draw", "n", "of", "user", "drawn", "why"],
    "stock": ["prize", "name", "value", "class", "endless", "delta", "reason", "salt", "item"],
    "prize": ["prize", "name", "value"], "commit": ["hash"], "opening": ["round"], "open": ["round", "signature"],
    "pause": ["reason"], "close": ["reason"], "mode": ["mode"], "rules": ["document"], "name": ["name"], "created": [], "archive": [],
    "agenda": ["count", "sha256"], "codes": ["prize", "count", "sha256", "dropped"], "erased": [], "skip": [],
}
OPTIONAL = {("award", "drawn"), ("award", "why"), ("stock", "name"), ("stock", "value"), ("stock", "class"),
            ("stock", "endless"), ("stock", "delta"), ("stock", "item"), ("mode", "mode"), ("pause", "reason"), ("close", "reason"), ("open", "round"), ("open", "signature"),
            ("codes", "count"), ("codes", "sha256"), ("codes", "dropped")}
WHOLE = {"v", "unit", "n", "of", "delta", "count", "dropped", "round", "item"}
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
STOCK_MAX = 10**12
LINE_MAX = 262144


def is_text(s):
    """Checks a name or a reason."""
    if not 0 < len(s) <= 200:
        raise Bad("a name or a reason has no such text")


def no_repeats(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Bad("a member is there twice")
    return members


def no_number(_):
    raise Bad("a number is not whole")


# An award in its one right form, but for the ranges of its numbers.
NUMBER = rb"(0|[1-9][0-9]{0,17})"
AWARD = re.compile(
    rb'\{"v":' + NUMBER + rb',"at":"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})\.([0-9]{6})Z","kind":"award",'
    rb'"prize":"([a-z0-9][a-z0-9._-]{0,63})","unit":' + NUMBER + rb',"draw":"([A-Za-z0-9_-]{21}[AQgw])","n":' + NUMBER + rb',"of":' + NUMBER +
    rb',"user":"([A-Za-z0-9_-]{21}[AQgw])"(?:,"drawn":(?:null|"([a-z0-9][a-z0-9._-]{0,63})"),"why":"(sold-out|limit|budget|guarantee|moment)")?\}\n')
second_of = [b"", 0]  # the second of the award before, and its microseconds: most come in the same


def parse_award(b):
    """What parse_line makes of most lines of a log, and several times as fast. None where parse_line has to read it."""
    m = AWARD.fullmatch(b)
    if not m:
        return None
    v, second, part, prize, unit, draw, n, of, user, drawn, why = m.groups()
    if second != second_of[0]:
        try:
            whole = datetime.fromisoformat(second.decode() + "+00:00")
        except ValueError:
            return None
        second_of[:] = second, (whole - EPOCH) // timedelta(microseconds=1)
    line = {"v": int(v), "kind": "award", "us": second_of[1] + int(part), "prize": prize.decode(), "unit": int(unit),
            "draw": draw.decode(), "n": int(n), "of": int(of), "user": user.decode()}
    if why:
        line["drawn"], line["why"] = drawn and drawn.decode(), why.decode()
    return line if line["unit"] >= 1 and 1 <= line["n"] <= line["of"] <= 100 else None


def parse_line(b):
    if line := parse_award(b):
        return line
    if len(b) > LINE_MAX:
        raise Bad("the line is too long")
    try:
        m = json.loads(b.decode("utf-8"), object_pairs_hook=no_repeats, parse_float=no_number, parse_constant=no_number)
    except Bad:
        raise
    except (ValueError, RecursionError):  # one is of a number of thousands of digits
        raise Bad("the line is no JSON")
    kind = m.get("kind") if isinstance(m, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise Bad("the line is of no known kind")
    order = ["v", "at", "kind"] + KINDS[kind]
    for name in m:
        if name not in order:
            raise Bad(f"a line of kind {kind} has no member {name}")
    for name in order:
        if name not in m:
            if (kind, name) in OPTIONAL:
                continue
            raise Bad(f"the member {name} is missing")
        value, want = m[name], int if name in WHOLE else str
        if name in ("document", "endless") or (name == "drawn" and value is None):
            continue
        if type(value) is not want or (want is int and not -2**63 <= value < 2**63):
            raise Bad(f"the member {name} is of another type")
        if value == "":
            raise Bad(f"the member {name} is empty")
    try:
        if not AT.fullmatch(m["at"]):
            raise ValueError
        m["us"] = (datetime.strptime(m["at"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc) - EPOCH) // timedelta(microseconds=1)
    except ValueError:
        raise Bad("at is not UTC with six decimals")
    try:
        check_members(kind, m)
    except Bad:
        raise
    except (AttributeError, KeyError, OverflowError, TypeError) as e:
        raise Bad(f"the members have other types: {e}")
    written = encode({name: m[name] for name in order if name in m}) if kind != "rules" else \
        encode({"v": m["v"], "at": m["at"], "kind": kind})[:-1] + ',"document":' + encode(arranged(m["document"])) + "}"
    if written.encode("utf-8", "surrogatepass") + b"\n" != b:
        raise Bad("the line is not in its one right form")
    return m


def check_members(kind, m):
    for name, form in (("prize", ID), ("draw", TAG), ("user", TAG), ("salt", TAG), ("hash", HASH), ("sha256", HASH), ("value", VALUE), ("drawn", ID), ("signature", SIGNATURE)):
        if m.get(name) is not None and not form.fullmatch(m[name]):
            raise Bad(f"the member {name} has another form")
    if kind == "award":
        if ("drawn" in m) != ("why" in m) or m.get("why", "limit") not in ("sold-out", "limit", "budget", "guarantee", "moment"):
            raise Bad("drawn and why do not belong together")
        if m["unit"] < 1 or not 1 <= m["n"] <= m["of"] <= 100:
            raise Bad("unit, n or of is out of range")
    if kind == "stock":
        if ("name" in m) != ("value" in m) or ("class" in m and "name" not in m) or m.get("class", "blank") != "blank":
            raise Bad("name, value and class do not belong together")
        if ("endless" in m and (m["endless"] is not True or "class" not in m)) or ("endless" in m) == ("delta" in m):
            raise Bad("endless, class and delta do not belong together")
        if "item" in m and (m["item"] < 1 or m["delta"] != 1 or "name" in m):
            raise Bad("a moment adds one unit of a prize that is there")
    for name in ("name", "reason"):
        if name in m:
            is_text(m[name])
    if kind == "rules" and m["document"] is not None:
        check_rules(arranged(m["document"]))
    if m.get("count", 1) < 1 or m.get("dropped", 1) < 1:
        raise Bad("count or dropped is out of range")
    if kind == "codes" and (("count" in m) != ("sha256" in m) or ("count" in m) == ("dropped" in m)):
        raise Bad("count and sha256 belong together, without dropped")
    if not 1 <= m.get("round", 1) <= ROUND_MAX or (kind == "open" and ("round" in m) != ("signature" in m)):
        raise Bad("the round is out of range, or stands without its signature")


# ---- rules ----

RULES = {"win": 0, "odds": ["of", "prizes"], "fallback": 0, "guarantee": ["after", "prize"], "limits": ["of", "prize", "max", "per"],
         "budget": ["max", "per"], "zone": 0, "tickets": 0, "blocked": 0, "disclose": 0, "low": ["prize", "below"],
         "claims": ["within", "prizes", "return"]}


def in_order(members, order):
    if not isinstance(members, dict) or set(members) - set(order):
        raise Bad("the rules have an unknown member")
    return {name: members[name] for name in order if name in members}


def arranged(document):
    if document is None:
        return None
    rules = in_order(document, RULES)
    for name, order in RULES.items():
        if order and name in rules:
            part = rules[name]
            rules[name] = [in_order(p, order) for p in part] if isinstance(part, list) else in_order(part, order)
    if isinstance(rules.get("odds"), dict) and isinstance(rules["odds"].get("prizes"), dict):
        rules["odds"]["prizes"] = dict(sorted(rules["odds"]["prizes"].items()))
    return rules


def need(good, what):
    if not good:
        raise Bad(f"the rules have no such {what}")


def is_whole(n, low, high):
    return type(n) is int and low <= n <= high


def check_claims(claims):
    """Claims decide no draw: they are checked, and never folded."""
    if "within" in claims:
        within = claims["within"]
        need(type(within) is str and is_window(length(within)), "claims.within")
    prizes = claims.get("prizes", ["x"])
    need(type(prizes) is list and prizes and all(type(p) is str and ID.fullmatch(p) for p in prizes) and len(set(prizes)) == len(prizes), "claims.prizes")
    need(type(claims.get("return", True)) is bool, "claims.return")


def check_rules(rules):
    """Checks a document by itself. Pool.set_rules checks what depends on the prizes."""
    for name, kind in {"win": str, "odds": dict, "fallback": str, "guarantee": dict, "limits": list, "budget": dict, "zone": str,
                       "tickets": bool, "blocked": list, "disclose": bool, "low": list, "claims": dict}.items():
        need(type(rules.get(name, kind())) is kind, name)
    lacks = "odds" in rules or "guarantee" in rules or "budget" in rules  # what needs a fallback
    if "win" in rules:
        need(re.fullmatch("[1-9][0-9]{0,9}/[1-9][0-9]{0,9}", rules["win"]), "win")
        a, b = fraction(rules["win"])
        need(a <= b <= 10**9 and "odds" not in rules, "win")
        lacks |= a < b
    if "odds" in rules:
        of, shares = rules["odds"].get("of"), rules["odds"].get("prizes")
        need(is_whole(of, 1, 10**9) and type(shares) is dict and len(shares) <= 1000, "odds")
        need(all(ID.fullmatch(name) and is_whole(share, 0, of) for name, share in shares.items()) and sum(shares.values()) <= of, "odds")
        need(rules.get("fallback") not in shares, "odds")
    need(ID.fullmatch(rules.get("fallback", "a")), "fallback")
    if "guarantee" in rules:
        owed = rules["guarantee"].get("prize")
        need(is_whole(rules["guarantee"].get("after"), 0, 100_000) and type(owed) is str and ID.fullmatch(owed), "guarantee")
    limits = []
    for limit in rules.get("limits", []):
        of, prize = limit.get("of"), limit.get("prize")
        need(of in ("draws", "wins", "prize") and (of == "prize") == ("prize" in limit) and is_whole(limit.get("max"), 1, 10**6), "limit")
        need(of != "prize" or (type(prize) is str and ID.fullmatch(prize)), "limit")
        limits.append((of, prize, window(limit)))
        lacks |= of != "draws"
    need(len(limits) == len(set(limits)) <= 16, "limits")
    if "budget" in rules:
        most = rules["budget"].get("max")
        need(type(most) is str and re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,2})?", most) and type(window(rules["budget"])) is not int, "budget")
    need("fallback" in rules or not lacks, "thing as nothing: the fallback is missing")
    if "zone" in rules:
        Zone(rules["zone"])
    blocked = rules.get("blocked", [])
    need(all(type(user) is str and TAG.fullmatch(user) for user in blocked) and len(blocked) == len(set(blocked)) <= 1000, "blocked")
    low = rules.get("low", [])
    need(all(type(w.get("prize")) is str and ID.fullmatch(w["prize"]) and is_whole(w.get("below"), 1, STOCK_MAX) for w in low), "low")
    need(len({w["prize"] for w in low}) == len(low), "low")
    check_claims(rules.get("claims", {}))
    need(len(encode(rules).encode("utf-8", "surrogatepass")) <= 131072, "length")


def window(limit):
    """The window of a limit or a budget: a word of the calendar, the microseconds of a rolling one, or None for ever."""
    per = limit.get("per")
    need(type(per) is str or "per" not in limit, "window")
    if per is None or per in ("hour", "day", "week", "month"):
        return per
    need(is_window(length(per)), "window")
    return length(per)


def is_window(us):
    return 10**6 <= us <= 8760 * 3600 * 10**6


UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


def length(text):
    """The microseconds of a duration such as 1h30m, perhaps with a plus before it."""
    parts = re.findall(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)", text)
    if "".join(a + b for a, b in parts) != text.removeprefix("+") or not parts:
        raise Bad("the rules have no such duration")
    ns = 0
    for number, unit in parts:  # each part in whole nanoseconds, rounded down
        whole, _, decimals = number.partition(".")
        part, of = 0, 1
        for digit in decimals:
            if part > (2**63 - 1) // 10 or part * 10 + int(digit) > 2**63:
                break
            part, of = part * 10 + int(digit), of * 10
        ns += int(whole.lstrip("0")[:20] or 0) * UNITS[unit] + int(part * (UNITS[unit] / of))
    need(ns % 1000 == 0, "duration in whole microseconds")
    return ns // 1000


class Zone:
    def __init__(self, name):
        self.zone, self.days = timezone.utc, {}
        if name == "UTC":
            return
        try:
            self.zone = ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            if not available_timezones():
                raise SystemExit("verify.py: the rules name a time zone, and this machine has no list of them: install the package tzdata")
            raise Bad(f"this machine knows no time zone {name!r}")
        if name.split("/")[0] in ("localtime", "posixrules", "posix", "right"):
            raise Bad(f"{name!r} is no zone of the list")

    @staticmethod
    def source():
        """The release of the time zones that ZoneInfo reads here, "" where nothing says it, and where they are."""
        for folder in TZPATH:
            if not os.path.isfile(os.path.join(folder, "Etc", "UTC")):
                continue
            for name in ("tzdata.zi", "+VERSION"):
                try:
                    with open(os.path.join(folder, name), encoding="ascii", errors="replace") as f:
                        m = re.match(r"(?:# version )?([0-9]{4}[a-z]{1,2})$", f.readline(100))
                except OSError:
                    continue
                if m:
                    return m[1], folder
            return "", folder
        try:
            import tzdata
            return tzdata.IANA_VERSION, "the package tzdata"
        except ImportError:
            return "", "nowhere"

    def offset(self, us):
        return (EPOCH + timedelta(microseconds=us)).astimezone(self.zone).utcoffset() // timedelta(microseconds=1)

    def changes(self, low, high):
        """The instants after low and up to high at which the offset changes."""
        found, step = [], 15 * 60 * 10**6
        while low < high:
            end = min(low + step, high)
            if self.offset(low) != self.offset(end):
                a, b = low, end
                while b - a > 1:
                    middle = (a + b) // 2
                    a, b = (middle, b) if self.offset(middle) == self.offset(low) else (a, middle)
                found.append(b)
            low = end
        return found

    def date(self, day):
        """The first instant of a local date, or of a later one."""
        if day not in self.days:
            midnight = (datetime(day.year, day.month, day.day, tzinfo=timezone.utc) - EPOCH) // timedelta(microseconds=1)
            low, high = midnight - 24 * 3600 * 10**6, midnight + 48 * 3600 * 10**6
            borders = [low] + self.changes(low, high) + [high]
            for a, b in zip(borders, borders[1:]):
                begin = max(a, midnight - self.offset(a))
                if begin < b:
                    self.days[day] = begin
                    break
        return self.days[day]

    def start(self, per, us):
        """The first instant of the window that holds us, None for ever."""
        if per is None:
            return None
        if per not in ("hour", "day", "week", "month"):
            return us - length(per)
        local = (EPOCH + timedelta(microseconds=us)).astimezone(self.zone)
        if per == "hour":
            begin = us - (local.minute * 60 + local.second) * 10**6 - local.microsecond
            return ([begin] + self.changes(begin, us))[-1]
        day = local.date()
        if per == "week":
            day -= timedelta(days=day.weekday())
        return self.date(day.replace(day=1) if per == "month" else day)


def cents(text):
    whole, _, part = text.partition(".")
    return int(whole) * 100 + int((part + "00")[:2])


def fraction(text):
    a, b = text.split("/")
    return int(a), int(b)


def counts_users(rules):
    return bool(rules and (rules.get("limits") or "guarantee" in rules or rules.get("blocked")))


class Prize:
    def __init__(self, line):
        self.id, self.blank, self.endless = line["prize"], "class" in line, "endless" in line
        self.cents = cents(line["value"])
        self.stocked, self.issued = STOCK_MAX if self.endless else line["delta"], 0

    def remaining(self):
        return 0 if self.endless else self.stocked - self.issued


class Pool:
    """The state of a pool, entry by entry, and what it makes of the next draw."""

    def __init__(self):
        self.prizes, self.rules, self.zone, self.state = {}, None, None, None
        self.turns = {}  # (user, kind of turns) -> their times
        self.misses = {}  # user -> draws in a row without a win
        self.spent_at, self.spent = [], [0]  # times, and sums up to them
        self.moments = {}  # prize -> the lines of its pending moments, in order
        self.items = set()  # the moments that were done

    def fallback(self):
        return self.prizes.get(self.rules.get("fallback")) if self.rules else None

    def remaining(self):
        return sum(p.remaining() for p in self.prizes.values())

    def stock(self, line):
        p = self.prizes.get(line["prize"])
        if ("name" in line) != (p is None):
            raise Bad("a prize has its name on its first line alone")
        if p is None:
            p = self.prizes[line["prize"]] = Prize(line)
            if p.blank and p.cents:
                raise Bad("a blank has a value")
            if p.blank and not p.endless and p.stocked == STOCK_MAX:
                raise Bad("a blank of as many units is endless")
        elif p.endless or line["delta"] == 0:
            raise Bad("a move moves nothing")
        else:
            p.stocked += line["delta"]
            if p.blank and p.stocked == STOCK_MAX:
                raise Bad("no blank becomes endless")
        if not p.issued <= p.stocked <= STOCK_MAX:
            raise Bad("the stock is below what was issued, or too large")

    def pend(self, line):
        """Applies the line of a moment: it is pending from then on."""
        if line["item"] in self.items or self.prizes[line["prize"]].blank:
            return f"moment {line['item']} was done before, or is of a blank"
        self.items.add(line["item"])
        self.moments.setdefault(line["prize"], collections.deque()).append(line["v"])
        return None

    def moment(self, user, us):
        """The prize that a pending moment gives to the user, None if none does."""
        for _, prize in sorted((pending[0], prize) for prize, pending in self.moments.items() if pending):
            if not self.withheld(self.prizes[prize], user, us):
                return self.prizes[prize]
        return None

    def revalues(self, line):
        p = self.prizes.get(line["prize"])
        return p is None or p.cents != cents(line["value"])

    def correct(self, line):
        p = self.prizes.get(line["prize"])
        if p is None or p.issued or (p.blank and cents(line["value"])):
            raise Bad("the prize is not there, has issued units, or is a blank")
        p.cents = cents(line["value"])

    def set_rules(self, rules):
        if rules:
            fallback, odds = rules.get("fallback"), rules.get("odds")
            named = ([fallback] if fallback else []) + [r["prize"] for r in rules.get("limits", []) + rules.get("low", []) if "prize" in r]
            named += [rules["guarantee"]["prize"]] if "guarantee" in rules else []
            named += list(odds["prizes"]) if odds else []
            claimed = rules.get("claims", {}).get("prizes", [])
            named += claimed
            for name in named:
                if name not in self.prizes:
                    raise Bad(f"the rules name {name}, which is no prize")
            if any(self.prizes[name].blank for name in claimed):
                raise Bad("the claims name a blank")
            unlimited = [limit["prize"] for limit in rules.get("limits", []) if "prize" in limit] + list(odds["prizes"] if odds else [])
            if any(self.prizes[name].endless for name in unlimited):
                raise Bad("an endless blank has odds, or a limit of its own")
            if odds and any(not p.blank and p.id not in odds["prizes"] for p in self.prizes.values()):
                raise Bad("the odds leave out a prize")
            if fallback and not self.prizes[fallback].endless:
                raise Bad("the fallback is no endless blank")
            if "guarantee" in rules and self.prizes[rules["guarantee"]["prize"]].blank:
                raise Bad("a blank is guaranteed")
            self.zone = Zone(rules.get("zone", "UTC"))
        self.rules = rules

    def turns_of(self, limit, prize):
        """What an award of the prize is a turn of, under a limit; None for nothing."""
        if limit["of"] == "draws":
            return "draw"
        if limit["of"] == "wins":
            return None if prize.blank else "win"
        return "prize:" + prize.id if prize.id == limit["prize"] else None

    def passes(self, limit, kind, user, us, more):
        start, times = self.zone.start(limit.get("per"), us), self.turns.get((user, kind), [])
        used = len(times) if start is None else len(times) - bisect.bisect_left(times, start)
        return used + more > limit["max"]

    def withheld(self, prize, user, us):
        if prize.remaining() <= 0:
            return "sold-out"
        rules = self.rules or {}
        for limit in rules.get("limits", []):
            kind = self.turns_of(limit, prize)
            if limit["of"] != "draws" and kind and self.passes(limit, kind, user, us, 1):
                return "limit"
        budget = rules.get("budget")
        if budget and prize.cents:  # what costs nothing is given, though more was spent than new rules allow
            start = self.zone.start(budget.get("per"), us)
            spent = self.spent[-1] - (0 if start is None else self.spent[bisect.bisect_left(self.spent_at, start)])
            if prize.cents > cents(budget["max"]) - spent:
                return "budget"
        return None

    def refusal(self, line):
        """Why a draw has to be refused, None where it has not."""
        rules, us = self.rules or {}, line["us"]
        if self.state != "open":
            return "the pool is not open"
        if not self.fallback() and not any(p.stocked for p in self.prizes.values() if not p.endless):
            return "the pool holds no unit yet"
        if line["user"] in rules.get("blocked", []):
            return "the user is blocked"
        for limit in rules.get("limits", []):
            if limit["of"] == "draws" and self.passes(limit, "draw", line["user"], us, line["of"]):
                return "a limit of draws is reached"
        if not self.fallback() and self.remaining() < line["of"]:
            return "the pool is sold out"
        return None

    def pick(self, numbers):
        """What the urn gives: a prize, or None."""
        rules = self.rules or {}
        if "odds" in rules:
            n = numbers.below(rules["odds"]["of"])
            for p in self.prizes.values():
                share = rules["odds"]["prizes"].get(p.id, 0)
                if n < share:
                    return p
                n -= share
            return None
        if "win" in rules:
            a, b = fraction(rules["win"])
            if a < b and numbers.below(b) >= a:
                return None
        remaining = self.remaining()
        if remaining == 0:
            return None
        n = numbers.below(remaining)
        for p in self.prizes.values():
            if n < p.remaining():
                return p
            n -= p.remaining()

    def decide(self, line, numbers):
        """The prize that the version gives, and the redirect: None or (drawn, why)."""
        drawn, user, us = self.pick(numbers), line["user"], line["us"]
        if self.moments and (given := self.moment(user, us)):
            return given, (drawn.id if drawn else None, "moment")
        if self.rules is None:
            return drawn, None
        final, why = drawn, None
        if drawn:
            why = self.withheld(drawn, user, us)
            final = None if why else drawn
        guarantee = self.rules.get("guarantee")
        if guarantee and (final is None or final.blank) and self.misses.get(user, 0) >= guarantee["after"]:
            owed = self.prizes[guarantee["prize"]]
            if not self.withheld(owed, user, us):
                final, why = owed, "guarantee"
        if final is None:
            final = self.fallback()
        return final, (drawn.id if drawn else None, why) if why else None

    def take(self, line):
        p, user, us, rules = self.prizes.get(line["prize"]), line["user"], line["us"], self.rules or {}
        if p is None or line["unit"] != p.issued + 1 or line["unit"] > p.stocked:
            raise Bad("the prize has no such unit next")
        if line.get("why") == "moment":
            self.moments[line["prize"]].popleft()
        for kind in {self.turns_of(limit, p) for limit in rules.get("limits", [])} - {None}:
            self.turns.setdefault((user, kind), []).append(us)
        if "guarantee" in rules:
            self.misses[user] = self.misses.get(user, 0) + 1 if p.blank else 0
        if "budget" in rules and p.cents:
            self.spent_at.append(us)
            self.spent.append(self.spent[-1] + p.cents)
        p.issued += 1


# ---- receipts ----

def members(value, types, optional=()):
    """Checks the members of a JSON object and their types."""
    if not isinstance(value, dict) or set(value) - set(types) or set(types) - set(value) - set(optional):
        raise Bad("there are other members than " + ", ".join(types))
    if any(type(value[name]) is not types[name] for name in value):
        raise Bad("a member is of another type")
    return value


def salt(text):
    if not re.fullmatch("[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]", text):
        raise Bad("a salt is not 32 bytes of unpadded base64url")
    return base64.urlsafe_b64decode(text + "=")


def tag(by, label, name):
    return base64.urlsafe_b64encode(sha(by + label + encoded(name))[:16]).decode().rstrip("=")


def encoded(text):
    """The bytes of a text; of one that is not Unicode those that no other has."""
    return text.encode("utf-8", "surrogatepass")


def in_batch(text, batch, key):
    """Checks that a key has signed a text with others, as a leaf of a tree, and returns the text."""
    members(batch, {"note": str, "index": int, "hashes": list})
    origin, size, root = checkpoint(key.open(encoded(batch["note"])))
    if origin != key.name + "/receipts" or not 2 <= size <= 1024:
        raise Bad(f"the note is not that of a batch of receipts of {key.name}")
    if root_of(size, batch["index"], [encoded(text)], batch["hashes"]) != root:
        raise Bad("the text is not in the batch of receipts that the note signs")
    return text


def root_of(size, first, lines, hashes):
    """The root that lines, from a place on, and the hashes of a proof make in a tree of size."""
    end = first + len(lines)
    if first < 0 or end > size or not all(isinstance(h, str) for h in hashes):
        raise Bad("the proof of inclusion is not one of such lines")
    hashes = [base64_exact(h, "a hash") for h in hashes]

    def of(lo, hi):
        if hi <= first or lo >= end:
            if not hashes or len(hashes[0]) != 32:
                raise Bad("the proof of inclusion is not one of such lines")
            return hashes.pop(0)
        if hi - lo == 1:
            return sha(b"\x00" + lines[lo - first])
        middle = lo + (1 << (hi - lo - 1).bit_length() - 1)
        if middle <= first:  # what holds a line comes first
            right = of(middle, hi)
            return sha(b"\x01" + of(lo, middle) + right)
        left = of(lo, middle)
        return sha(b"\x01" + left + of(middle, hi))

    root = of(0, size)
    if hashes:
        raise Bad("the proof of inclusion is not one of such lines")
    return root


class Receipt:
    """A receipt, or an answer of the service that holds one."""

    def __init__(self, b, key):
        try:
            answer = json.loads(b.decode("utf-8"), object_pairs_hook=no_repeats, parse_constant=no_number)
        except Bad:
            raise
        except (ValueError, RecursionError):
            raise Bad("the receipt is no JSON")
        if not isinstance(answer, dict):
            raise Bad("the receipt is no object")
        inner = answer.get("receipt", answer)
        signed = {"text": str, "batch": dict} if isinstance(inner, dict) and "batch" in inner else {"note": str}
        members(inner, {**signed, "salt": str, "user_salt": str}, ["user_salt"])
        self.salt = salt(inner["salt"])
        self.user_salt = salt(inner["user_salt"]) if "user_salt" in inner else self.salt
        text = in_batch(inner["text"], inner["batch"], key) if "batch" in inner else key.open(encoded(inner["note"]))
        head = key.name + "/receipt\n"
        if not text.startswith(head) or not text.endswith("\n"):
            raise Bad(f"the text is not a receipt of {key.name}")
        self.lines = [encoded(line) + b"\n" for line in text[len(head):].split("\n")[:-1]]
        self.awards = [parse_line(b) for b in self.lines]
        if not self.awards:
            raise Bad("the receipt has no lines")
        self.first = first = self.awards[0]
        for i, a in enumerate(self.awards):
            if a["kind"] != "award" or (a["v"], a["n"], a["of"]) != (first["v"] + i, i + 1, len(self.awards)) or \
                    any(a[m] != first[m] for m in ("draw", "user", "us")):
                raise Bad(f"line {i + 1} is not the next of one draw")
        if inner is not answer:
            self.answer(answer)
        self.proof = members(answer["proof"], {"checkpoint": str, "index": int, "hashes": list}) if "proof" in answer else None

    def answer(self, answer):
        """Compares the answer around the receipt with it."""
        if not all(isinstance(answer.get(name), (str, type(None))) for name in ("draw", "user")):
            raise Bad("the draw or the user of the answer is no text")
        self.opens(answer.get("draw"), answer.get("user"))
        shown = answer.get("awards")
        if shown is not None and [(a["prize"], a["unit"], a["version"], a["at"]) for a in shown] != \
                [(a["prize"], a["unit"], a["v"], at_of(a["us"])) for a in self.awards]:
            raise Bad("the awards of the answer are not those of its receipt")

    def opens(self, name, user):
        if name and tag(self.salt, b"draw\n", name) != self.first["draw"]:
            raise Bad(f"the receipt is not of the draw {name!r}")
        if user and self.first["user"] not in (tag(self.user_salt, b"user\n", user), user[len("erased:"):] if user.startswith("erased:") else None):
            raise Bad(f"the receipt is not of a draw of the user {user!r}")

    def included(self, key, kept=None):
        """Checks that the lines are in the log of the proof's checkpoint, and of one that was kept. Says its size and root."""
        notes = [encoded(self.proof["checkpoint"])] + ([kept] if kept is not None else [])
        for note in notes:
            origin, size, root = checkpoint(key.open(note))
            if origin != key.name:
                raise Bad("the checkpoint is of another log")
            if self.proof["index"] != self.first["v"] - 1:
                raise Bad("the proof of inclusion is of another entry")
            if root_of(size, self.proof["index"], self.lines, self.proof["hashes"]) != root:
                raise Bad("the lines are not in the log of the checkpoint")
        return size, root


def at_of(us):
    return (EPOCH + timedelta(microseconds=us)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def split_receipts(b):
    """The receipts of a file, one a line; one alone may have several lines."""
    try:
        json.loads(b)
        return [b]
    except (ValueError, RecursionError):
        return [line.strip() for line in b.split(b"\n") if line.strip()]


def verify_receipt(path, key, name, user, kept):
    """Checks one receipt."""
    try:
        key = Key(key)
        receipt = Receipt(read_own(path), key)
        receipt.opens(name, user)
        if kept and receipt.proof is None:
            raise Bad("there is no proof of inclusion")
        size = receipt.included(key, read_own(kept) if kept else None)[0] if receipt.proof else 0
    except (Bad, KeyError, TypeError) as e:
        print(f"receipt: {e}")
        return 3
    for a in receipt.awards:
        print(f"entry {a['v']}: unit {a['unit']} of {a['prize']}, at {at_of(a['us'])}")
    print(f"the receipt holds; the log of {size} entries has it" if size else "the receipt holds")
    return 0


class Names:
    """The names of a log's draws as far as it was read, by hashes of 64 bits whose key is made anew for each run. They
    take 22 bytes each at most: a set of texts would take a hundred."""

    def __init__(self, key=hash):
        self.key, self.parts, self.used = key, [array("q", bytes(128)) for _ in range(256)], [0] * 256

    def add(self, name):
        """Says whether the name, or one with the same hash, is there."""
        h = self.key(name) or 1  # 0 is no hash
        at = h & 255
        slots = self.parts[at]
        if 4 * self.used[at] > 3 * len(slots):
            old, slots = slots, array("q", bytes(16 * len(slots)))
            self.parts[at] = slots
            for known in old:
                if known:
                    slots[self.slot(slots, known)] = known
        i = self.slot(slots, h)
        if slots[i]:
            return True
        slots[i] = h
        self.used[at] += 1
        return False

    @staticmethod
    def slot(slots, h):
        last = len(slots) - 1
        i = h >> 8 & last
        while slots[i] and slots[i] != h:
            i = i + 1 & last
        return i


# ---- the folder ----

class Verifier:
    def __init__(self, folder, key=None, kept=(), live=False, witnesses=(), receipts=()):
        self.folder, self.given, self.kept, self.live = folder, key, kept, live
        self.witnesses, self.named, self.seen = witnesses, [], []  # seen: (witness, size, seconds) of each cosignature
        self.receipts, self.promised, self.promised_of = receipts, {}, {}
        self.tree, self.pool, self.signed = Tree(), Pool(), []
        self.us, self.last, self.draws, self.seeds, self.epoch_key = -2**63, None, Names(), None, (None, None)
        # the round of the opening that stands, the latest that was announced, and what the last open line mixes in
        self.announced, self.latest, self.mixed = None, 0, bytes(32)
        self.before = None, 0  # the checkpoint that was verified last, and its size
        self.replayed, self.openings, self.passed = 0, 0, 0  # awards, openings, and rounds that were passed over
        self.skipped = 0  # versions that give nothing

    def read(self, name):
        with self.opened(name) as f:
            b = f.read(NOTE_MAX + 1)
        if len(b) > NOTE_MAX:
            raise Finding(0, "file", f"{name} is longer than {NOTE_MAX} bytes")
        return b

    def zones(self):
        """The release of the time zones that the folder names, "" for none: it is not signed, and decides nothing."""
        try:
            m = re.fullmatch(rb"([0-9]{4}[a-z]{1,2})\n?", self.read("zones"))
        except (Finding, OSError):
            return ""
        return m[1].decode() if m else ""

    def leaves(self, path):
        """Says whether a path of the folder is a link out of it."""
        folder = os.path.realpath(self.folder)
        return os.path.islink(path) and os.path.commonpath([folder, os.path.realpath(path)]) != folder

    def has(self, name):
        path = os.path.join(self.folder, name)
        return os.path.exists(path) or self.leaves(path)

    def opened(self, name):
        """Opens a regular file of the folder, which no link leaves."""
        path = os.path.join(self.folder, name)
        if self.leaves(path):
            raise Finding(0, "file", f"{name} is a link that leaves the folder")
        try:
            return open_regular(path)
        except FileNotFoundError:
            raise Finding(0, "file", f"there is no file {name}")
        except (Bad, IsADirectoryError):
            raise Finding(0, "file", f"{name} is not a regular file")

    def files(self):
        try:
            text = self.read("key").decode("utf-8")
            if not text.endswith("\n") or "\n" in text[:-1]:
                raise Bad("key is not one line")
            self.key = Key(text[:-1])
            if self.given and self.given != text[:-1]:
                raise Finding(0, "signature", "the key of the folder is not the one that was given")
        except (Bad, UnicodeDecodeError) as e:
            raise Finding(0, "file", f"key: {e}")
        own = self.read("commitment")
        try:
            text = self.key.open(own)
        except Bad as e:
            raise Finding(0, "signature", f"commitment: {e}")
        try:
            self.commitment = c = Commitment(text)
            if c.origin != self.key.name:
                raise Bad("the origin is not the name of the key")
        except Bad as e:
            raise Finding(0, "commitment", str(e))
        self.signed.append((c.size, c.root, "commitment"))
        self.witness_keys()
        self.checkpoints()
        for i, kept in enumerate(self.kept):
            if not kept.startswith(b"drawsvc commitment v1\n"):
                self.kept_checkpoints(i + 1, kept)
            elif kept != own:
                raise Finding(0, "kept", "the commitment is not the one that was kept")
        self.promises()
        self.signed.sort(key=lambda s: s[0])
        self.signed.reverse()  # the next is the last
        self.reveal()

    def kept_checkpoints(self, n, kept):
        """The checkpoints of the nth file that was kept: one, or a copy of the folder's checkpoints."""
        which = 0
        try:
            for note in split_notes(io.BytesIO(kept)):
                which += 1
                self.checkpoint(note, "kept", f"file {n}, checkpoint {which}: ")
        except Bad as e:
            raise Finding(0, "kept", f"file {n}, checkpoint {which + 1}: {e}")

    def promises(self):
        for i, b in enumerate(self.receipts):
            try:
                receipt = Receipt(b, self.key)
                if receipt.proof:  # whose checkpoint was kept with it
                    self.signed.append((*receipt.included(self.key), "kept"))
            except (Bad, KeyError, TypeError) as e:
                raise Finding(0, "receipt", f"receipt {i + 1}: {e}")
            for a, line in zip(receipt.awards, receipt.lines):
                if self.promised.setdefault(a["v"], line) != line:
                    raise Finding(a["v"], "receipt", "two receipts promise two entries")
            other = self.promised_of.setdefault(receipt.first["draw"], receipt.first["v"])
            if other != receipt.first["v"]:
                raise Finding(min(other, receipt.first["v"]), "receipt", "two receipts of one draw have different texts")

    def checkpoint(self, signed, rule, which=""):
        if self.before[0] == (signed, rule):  # it is not verified again
            return self.before[1]
        try:
            origin, size, root = checkpoint(self.key.open(signed))
            if origin != self.commitment.origin:
                raise Bad("a checkpoint is of another log")
        except Bad as e:
            raise Finding(0, rule, f"{which}{e}")
        self.signed.append((size, root, rule))
        self.before = (signed, rule), size
        return size

    def witness_keys(self):
        """The witnesses that the folder names: what bears their names must be theirs."""
        if self.has("witnesses"):
            try:
                lines = self.read("witnesses").decode("utf-8").split("\n")
                if lines.pop():
                    raise Bad("the last line has no end")
                self.named = [Witness(line) for line in lines]
            except (Bad, UnicodeDecodeError) as e:
                raise Finding(0, "file", f"witnesses: {e}")

    def cosigned(self, note, size):
        for witness in self.named:
            try:
                witness.time(note)
            except Bad as e:
                raise Finding(0, "signature", f"checkpoints: {e}")
        for witness in self.witnesses:
            try:
                seconds = witness.time(note)
            except Bad as e:
                raise Finding(0, "witness", f"the checkpoint of {size} entries: {e}")
            if seconds is None:
                raise Finding(0, "witness", f"{witness.name} has not cosigned the checkpoint of {size} entries")
            self.seen.append((witness, size, seconds))

    def checkpoints(self):
        latest = self.read("checkpoint")  # first: a publisher goes on while its files are read
        text, note, self.covered = latest.rpartition(b"\n\n")[0], None, 0
        for note in self.notes():
            is_again = self.before[0] == (note, "checkpoint")
            size = self.checkpoint(note, "checkpoint")
            if not is_again:
                self.cosigned(note, size)
            if size < self.covered:
                raise Finding(0, "checkpoint", "the sizes of checkpoints decrease")
            self.covered = size
            if self.live and note.rpartition(b"\n\n")[0] == text:
                return  # what is behind is the publisher's next; this one may have gained cosignatures since
        if note != latest:
            raise Finding(0, "checkpoint", "checkpoint is not the last of checkpoints")

    def notes(self):
        """The notes of checkpoints, which one empty line joins; where there is no such file, the last is enough."""
        several = self.has("checkpoints")
        with self.opened("checkpoints" if several else "checkpoint") as f:
            try:
                yield from split_notes(f)
            except Bad as e:
                raise Finding(0, "file", f"checkpoints: {e}")

    def reveal(self):
        if not self.has("reveal"):
            if self.live:
                return
            raise Finding(0, "file", "there is no file reveal: the seed is not revealed yet; --live takes what can be checked before")
        m = re.fullmatch(b"([1-9][0-9]*) ([0-9a-f]{64})\n", self.read("reveal"))
        if not m:
            raise Finding(0, "file", "reveal is no seed in its one right form")
        place, seed = int(m.group(1)), bytes.fromhex(m.group(2).decode())
        if place > self.commitment.epochs:
            raise Finding(0, "reveal", "there is no such seed")
        self.seeds = [seed]
        for _ in range(place):
            self.seeds.insert(0, sha(self.seeds[0])) if place < 1024 else self.seeds.append(sha(self.seeds[-1]))
        if place >= 1024:
            self.seeds.reverse()
        if self.seeds[0] != self.commitment.anchor:
            raise Finding(0, "reveal", f"the anchor does not follow from the seed {place}")

    def lines(self):
        is_plain = self.has("log.jsonl")
        if not is_plain and not self.has("log.jsonl.gz"):
            text = "there is no file log.jsonl"
            if not self.has("reveal"):
                text += ": it comes with the reveal, or before it where the publisher runs with --publish-entries live"
            raise Finding(0, "file", text)
        n = 1
        try:
            with self.opened("log.jsonl" if is_plain else "log.jsonl.gz") as opened:
                f = opened if is_plain else io.BufferedReader(gzip.GzipFile(fileobj=opened))
                while line := f.readline(LINE_MAX + 1):
                    if self.live and n > self.covered:
                        return
                    yield line
                    n += 1
        except (OSError, EOFError, zlib.error) as e:
            raise Finding(n, "file", f"the log cannot be read: {e}")

    def run(self):
        self.files()
        for b in self.lines():
            n = self.tree.size + 1
            try:
                if not b.endswith(b"\n"):
                    raise Bad("the line has no end")
                line = parse_line(b)
            except Bad as e:
                raise Finding(n, "line", str(e))
            if line["v"] != n or line["us"] < self.us:
                raise Finding(n, "order", "the version or the time is not behind that of the entry before")
            self.us = line["us"]
            self.entry(n, line)
            if self.promised.pop(n, b) != b:
                raise Finding(n, "receipt", "the entry is another than a receipt promised")
            self.tree.add(b)
            while self.signed and self.signed[-1][0] == n:
                _, root, rule = self.signed.pop()
                if root != self.tree.root():
                    raise Finding(n, rule, "the log up to here has another root than the one that was signed")
        self.end(self.tree.size)

    def end(self, n):
        if self.is_drawing():
            raise Finding(n, "draw", "the log ends within a draw")
        if self.signed:
            raise Finding(n + 1, self.signed[-1][2], f"a log of {self.signed[-1][0]} entries was signed, and this one has {n}")
        if n <= self.commitment.size:
            raise Finding(n + 1, "commitment", "the log ends before the commitment's entry")
        if self.covered < n:
            raise Finding(self.covered + 1, "checkpoint", f"no checkpoint covers the entries behind {self.covered}")
        if self.pool.state != "close" and not self.live:
            raise Finding(n + 1, "life", "the log ends before the pool is closed")
        if self.promised:
            raise Finding(min(self.promised), "receipt", "a receipt promised the entry, and the log ends before it")

    def summary(self):
        """What holds, and how much that is."""
        weaker = "weaker: the commitment lets stock move while the pool is open\n" if self.commitment.stock_while_open else ""
        passed = f", {counted(self.passed, 'announced round')} passed over" if self.passed else ""
        skipped = f", {counted(self.skipped, 'version')} skipped" if self.skipped else ""
        return (f"{weaker}{self.commitment.origin}: {counted(self.tree.size, 'entry')} hold{'s' if self.tree.size == 1 else ''}: "
                f"{counted(self.replayed, 'award')} replayed from version {self.commitment.size + 2} on, {counted(self.openings, 'opening')}{passed}{skipped}")

    def is_drawing(self):
        return self.last is not None and self.last["n"] < self.last["of"]

    def entry(self, n, line):
        kind, pool = line["kind"], self.pool
        if (n == 1) != (kind == "created"):
            raise Finding(n, "life", "the first entry, and it alone, makes the pool")
        if (n == self.commitment.size + 1) != (kind == "commit") or (kind == "commit" and line["hash"] != self.commitment.hash.hex()):
            raise Finding(n, "commitment", "the commitment's entry is not where it belongs")
        if kind == "skip" and (n <= self.commitment.size or pool.state != "pause"):
            raise Finding(n, "life", "a version is skipped, and the pool is not paused and committed")
        if kind == "erased" and n > self.commitment.size:
            raise Finding(n, "life", "behind the commitment an erasure is no entry")
        if pool.state == "close" and kind not in ("name", "archive", "mode", "agenda", "prize"):
            raise Finding(n, "life", "the pool is closed")
        if kind == "commit":
            if pool.state == "open":
                raise Finding(n, "life", "the pool was open when it was committed")
            pool.state = "pause"
        if kind == "award":
            return self.award(n, line)
        if self.is_drawing():
            raise Finding(n, "draw", "another entry stands within a draw")
        self.last = None
        if kind == "open" and pool.state != "open" and n > self.commitment.size + 1:
            self.openings += 1
        if kind == "close":
            self.drop()
        if kind == "skip":
            self.skipped += 1
            self.drop()
        if kind in ("open", "pause", "close"):
            pool.state = kind
        self.beacon(n, line)
        try:
            rule = "stock"
            if kind == "stock":
                pool.stock(line)
                if "item" in line and (wrong := pool.pend(line)):
                    raise Finding(n, "moment", wrong)
            elif kind == "prize":
                pool.correct(line)
            elif kind == "rules":
                rule = "rules"
                pool.set_rules(line["document"])
        except (Bad, KeyError, TypeError, ValueError) as e:
            raise Finding(n, rule, str(e))

    def beacon(self, n, line):
        """Checks what a pool with a beacon announces, opens with, and may change."""
        beacon, kind, pool = self.commitment.beacon, line["kind"], self.pool
        if beacon is None or n <= self.commitment.size + 1:
            if kind == "opening" or "round" in line:
                raise Finding(n, "beacon", "the pool is not committed to a beacon")
        elif kind == "opening":
            if pool.state != "pause" or self.announced:
                raise Finding(n, "beacon", "the pool is not paused, or has a round announced already")
            if line["round"] <= self.latest:
                raise Finding(n, "beacon", "the round is not behind the one that was announced before")
            if not beacon.announces(line["round"], line["us"]):
                raise Finding(n, "beacon", "the round was there, or less than two periods ahead, when it was announced")
            self.announced = self.latest = line["round"]
            self.opening = n
        elif kind == "open":
            if "round" not in line or line["round"] != self.announced:
                raise Finding(n, "beacon", "the pool opens with a round that no opening that stands has announced")
            try:
                self.mixed = beacon.mixed(line["round"], bytes.fromhex(line["signature"]))
            except Bad as e:
                raise Finding(n, "beacon", str(e))
            comes = beacon.at(line["round"]) // 10**6
            for witness in self.witnesses:
                if not any(by is witness and size >= self.opening and seconds < comes for by, size, seconds in self.seen):
                    raise Finding(self.opening, "beacon", f"{witness.name} did not see that round {line['round']} was "
                                                          "announced before it was there")
            self.announced, self.epoch_key = None, (None, None)
        elif kind == "rules" or (kind == "stock" and not self.commitment.stock_while_open) or (kind == "prize" and pool.revalues(line)):
            if pool.state == "open":
                raise Finding(n, "beacon", "the pool is open, and what its numbers give is changed")
            if pool.state == "pause":
                self.drop()

    def drop(self):
        """Passes over the round that is announced, if one is."""
        self.passed += self.announced is not None
        self.announced = None

    def award(self, n, line):
        last = self.last
        if self.is_drawing():
            if any(line[m] != last[m] for m in ("draw", "user", "of", "us")) or line["n"] != last["n"] + 1:
                raise Finding(n, "draw", "the award is not the next of the draw before it")
        elif line["n"] != 1 or self.is_known(n, line["draw"]):
            raise Finding(n, "draw", "the award begins no draw of a name of its own")
        self.last = line
        if n > self.commitment.size + 1:
            self.decide(n, line)
        if line.get("why") == "moment" and not self.pool.moments.get(line["prize"]):
            raise Finding(n, "moment", f"no moment of {line['prize']} is pending")
        try:
            self.pool.take(line)
        except Bad as e:
            raise Finding(n, "stock", str(e))

    def is_known(self, n, name):
        """Says whether a line before the nth has a draw of the name. Where two names share a hash the log decides."""
        if not self.draws.add(name):
            return False
        member = b'"draw":"' + name.encode() + b'"'  # a quote within a text is escaped
        return any(member in b for b in itertools.islice(self.lines(), n - 1))

    def decide(self, n, line):
        epoch = (n - (self.commitment.size + 1) - 1) // self.commitment.length
        if epoch >= self.commitment.epochs:
            raise Finding(n, "reveal", "the commitment has no seed for the version")
        if self.seeds is None or epoch + 1 >= len(self.seeds):
            if self.live:
                return
            raise Finding(n, "reveal", "the seed of the version is not revealed")
        refusal = self.pool.refusal(line) if line["n"] == 1 else None
        if refusal:
            raise Finding(n, "refused", refusal)
        if self.epoch_key[0] != epoch:
            self.epoch_key = epoch, draw_key(self.seeds[epoch + 1], self.commitment.hash, epoch, self.mixed)
        self.replayed += 1
        prize, redirect = self.pool.decide(line, Stream(self.epoch_key[1], n))
        logged = (line["drawn"], line["why"]) if "why" in line else None
        if prize is None:
            raise Finding(n, "refused", "the pool is sold out")
        due, given = redirect is not None and redirect[1] == "moment", logged is not None and logged[1] == "moment"
        if due != given or (due and prize.id != line["prize"]):
            raise Finding(n, "moment", f"the log has {line['prize']}{redirected(logged)}, due is {prize.id}{redirected(redirect)}")
        if prize.id != line["prize"] or prize.issued + 1 != line["unit"] or redirect != logged:
            raise Finding(n, "award", f"the log has unit {line['unit']} of {line['prize']}{redirected(logged)}, "
                                      f"the seed gives unit {prize.issued + 1} of {prize.id}{redirected(redirect)}")


def redirected(redirect):
    return f" instead of {redirect[0] or 'nothing'} ({redirect[1]})" if redirect else ""


def counted(n, what):
    return f"{n} {what}" if n == 1 else f"{n} {what[:-1]}ies" if what.endswith("y") else f"{n} {what}s"


def microseconds(text):
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


def round_vector(v):
    try:
        parse_line(('{"v":1,"at":"2026-03-04T04:06:07.000890Z","kind":"open","round":%d,"signature":%s}\n' % (v["round"], quote(v["signature"]))).encode())
        mixed = Beacon(*v["beacon"].split(" ")[1:]).mixed(v["round"], bytes.fromhex(v["signature"]))
    except Bad:
        return False
    return mixed.hex() == v["mixed"]


def receipt_vector(v):
    """Says whether a receipt of the vectors holds, and has its leaves and, from the pool's secret, its salts."""
    shown = {m: v[m] for m in ("draw", "user", "receipt", "proof") if m in v}
    try:
        key = Key(v["key"])
        receipt = Receipt(json.dumps(shown).encode(), key)
        if receipt.proof and receipt.included(key)[0] != v["size"]:
            return False
    except (Bad, KeyError, TypeError):
        return False
    secret, user = bytes.fromhex(v["secret"]), v["user"]
    salts = [hmac.digest(secret, v["draw"].encode(), "sha256")] * 2
    if v["counts"] and not user.startswith("erased:"):
        salts[1] = hmac.digest(secret, b"user\n" + user.encode(), "sha256")
    leaves = [sha(b"\x00" + line).hex() for line in receipt.lines]
    return [receipt.salt, receipt.user_salt] == salts and leaves == v["leaves"]


def vectors(path):
    """Checks the numbers, keys, chains, trees, commitments, lines, signatures and receipts of a file."""
    with open(path, encoding="utf-8") as f:
        all_of = json.load(f)
    wrong = []
    for v in all_of["numbers"]:
        numbers = Stream(bytes.fromhex(v["key"]), v["version"])
        if [numbers.below(int(n)) for n in v["below"]] != [int(n) for n in v["numbers"]]:
            wrong.append(f"numbers of version {v['version']}")
    for v in all_of["keys"]:
        if draw_key(bytes.fromhex(v["seed"]), bytes.fromhex(v["commitment"]), v["epoch"], bytes.fromhex(v["beacon"])).hex() != v["key"]:
            wrong.append("a key")
    for v in all_of["chains"]:
        seed = bytes.fromhex(v["seed"])
        for _ in range(v["place"]):
            seed = sha(seed)
        if seed.hex() != v["anchor"]:
            wrong.append("a chain")
    for v in all_of["trees"]:
        tree = Tree()
        for leaf in v["leaves"]:
            tree.add(leaf.encode())
        if tree.root().hex() != v["root"]:
            wrong.append("a tree")
    for v in all_of["commitments"]:
        if Commitment(v["text"]).hash.hex() != v["hash"]:
            wrong.append("a commitment")
    for v in all_of["rounds"]:
        if round_vector(v) != v["good"]:
            wrong.append(f"round {v['round']} of {v['signature']}")
    for v in all_of["announced"]:
        b = Beacon(*v["beacon"].split(" ")[1:])
        if (b.at(v["round"]) != microseconds(v["comes"])) or b.announces(v["round"], microseconds(v["at"])) != v["good"]:
            wrong.append(f"the time of round {v['round']}")
    for v in all_of["epochs"]:
        if (v["version"] - v["committed"] - 1) // v["length"] != v["epoch"]:
            wrong.append("an epoch")
    for text in all_of["lines"]:
        parse_line((text + "\n").encode())
    for text in all_of["refused"]:
        try:
            parse_line((text + "\n").encode())
            wrong.append("not refused: " + text)
        except Bad:
            pass
    for v in all_of["windows"]:
        start = Zone(v["zone"]).start(v["per"], (datetime.fromisoformat(v["at"]) - EPOCH) // timedelta(microseconds=1))
        if start != (datetime.fromisoformat(v["start"]) - EPOCH) // timedelta(microseconds=1):
            wrong.append(f"the {v['per']} of {v['at']} in {v['zone']}")
    for v in all_of["notes"]:
        try:
            good = Key(v["key"]).open(v["note"].encode()) == v["text"]
        except Bad:
            good = False
        if good != v["good"]:
            wrong.append("a note")
    for v in all_of["cosignatures"]:
        try:
            found = (True, Witness(v["key"]).time(v["note"].encode()) or 0)
        except Bad:
            found = (False, 0)
        if found != (v["good"], v["time"]):
            wrong.append("a cosignature")
    for i, v in enumerate(all_of["receipts"]):
        if receipt_vector(v) != v["good"]:
            wrong.append(f"receipt {i}")
    for v in all_of["batches"]:
        if receipt_vector(v) != v["good"]:
            wrong.append(f"receipt of a batch: {v['what']}")
    print("\n".join(wrong) or "all vectors hold")
    return 3 if wrong else 0


def main():
    args = argparse.ArgumentParser(description="Checks the published files of one drawsvc pool.")
    args.add_argument("folder", nargs="?", metavar="DIR")
    args.add_argument("--key", metavar="VKEY")
    args.add_argument("--kept", metavar="FILE", nargs="+", action="extend", default=[])
    args.add_argument("--witness", metavar="VKEY", nargs="+", action="extend", default=[])
    args.add_argument("--receipts", metavar="FILE")
    args.add_argument("--receipt", metavar="FILE")
    args.add_argument("--draw", metavar="NAME")
    args.add_argument("--user", metavar="USER")
    args.add_argument("--checkpoint", metavar="FILE")
    args.add_argument("--live", action="store_true")
    args.add_argument("--output", choices=("text", "json"), default="text")
    args.add_argument("--vectors", metavar="FILE")
    o = args.parse_args()
    if o.vectors:
        return vectors(o.vectors)
    if o.receipt and not o.key:
        args.error("--receipt needs --key")
    try:
        if o.key:
            Key(o.key)
    except Bad as e:
        args.error(f"--key: {e}")
    if o.receipt:
        try:
            return verify_receipt(o.receipt, o.key, o.draw, o.user, o.checkpoint)
        except OSError as e:
            args.exit(1, f"verify.py: {e}\n")
    if not o.folder:
        args.error("DIR is missing")
    if not os.path.isdir(o.folder):
        args.exit(1, f"verify.py: {o.folder} is no folder\n")
    try:
        kept = [read_own(name) for name in o.kept]
        witnesses = [Witness(text) for text in o.witness]
        receipts = split_receipts(read_own(o.receipts)) if o.receipts else []
    except (OSError, Bad) as e:
        args.exit(1, f"verify.py: {e}\n")
    v, found = Verifier(o.folder, o.key, kept, o.live, witnesses, receipts), None
    try:
        v.run()
    except Finding as e:
        found = e
    except OSError as e:
        args.exit(1, f"verify.py: {e}\n")
    entries = v.tree.size if not found or not found.entry else min(v.tree.size, found.entry - 1)
    (release, place), named = Zone.source(), v.zones()
    if o.output == "json":
        print(json.dumps({"ok": not found, "entries": entries, "entry": found.entry if found else 0,
                          "rule": found.rule if found else "", "detail": found.text if found else "",
                          "zones": release, "folder_zones": named}))
        return 3 if found else 0
    print(f"time zones: {release or 'those'} of {place}" + (f"; the folder names {named}" if named not in ("", release) else ""))
    print(found if found else v.summary())
    return 3 if found else 0


if __name__ == "__main__":
    sys.exit(main())
