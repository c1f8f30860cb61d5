#!/usr/bin/env python3
"""Checks the published files of one drawsvc pool. Python 3.9 or later, standard library only.

  verify.py DIR [--key VKEY] [--witness VKEY ...] [--kept FILE ...] [--live] [--output json]
  verify.py --vectors vectors.json

It is written from docs/verify/format.md and not from the service's code. It exits with 0 when everything holds. When
something does not, it exits with 3, and its last line is "entry N: RULE: text".
"""
import argparse
import base64
import binascii
import bisect
import gzip
import hashlib
import hmac
import json
import os
import re
import sys
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from zoneinfo import ZoneInfo


class Finding(Exception):
    def __init__(self, entry, rule, text):
        super().__init__(f"entry {entry}: {rule}: {text}")
        self.entry, self.rule, self.text = entry, rule, text


class Bad(ValueError):
    """Something is not in its one right form."""


def sha(b):
    return hashlib.sha256(b).digest()


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


def times(n, point):
    result = (0, 1, 1, 0)
    while n:
        if n & 1:
            result = add(result, point)
        point = add(point, point)
        n >>= 1
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


BASE = unpack((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def ed25519(key, message, signature):
    a, r, s = unpack(key), unpack(signature[:32]), int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or a is None or r is None or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    left, right = times(s, BASE), add(r, times(h, a))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


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
            m = re.fullmatch("— ([^ +\n]+) ([^ \n]+)", line)
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


class Commitment:
    def __init__(self, text):
        m = re.fullmatch(
            "drawsvc commitment v1\norigin ([^\\s+]+/[a-z0-9][a-z0-9._-]{0,63})\nanchor ([0-9a-f]{64})\nepochs ([1-9][0-9]*)\n"
            "epoch-length ([1-9][0-9]*)\nbeacon none\nlog ([1-9][0-9]*) ([A-Za-z0-9+/=]{44})\n", text)
        if not m:
            raise Bad("the text is no commitment of beacon none in its one right form")
        self.origin, self.anchor = m.group(1), bytes.fromhex(m.group(2))
        self.epochs, self.length, self.size = int(m.group(3)), int(m.group(4)), int(m.group(5))
        self.root, self.hash = base64_exact(m.group(6), "the root"), sha(text.encode())
        if self.epochs > 65536 or self.length > 2**40 or len(self.root) != 32:
            raise Bad("a member of the commitment is out of range")


def checkpoint(text):
    m = re.fullmatch("([^\n]+)\n([1-9][0-9]*)\n([A-Za-z0-9+/=]{44})\n", text)
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


ID, TAG, HASH = re.compile("[a-z0-9][a-z0-9._-]{0,63}"), re.compile("[A-Za-z0-9_-]{21}[AQgw]"), re.compile("[0-9a-f]{64}")
VALUE = re.compile(r"(0|[1-9][0-9]{0,11})\.[0-9]{2}")
AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
KINDS = {
    "award": ["prize", "unit", "draw", "n", "of", "user", "drawn", "why"],
    "stock": ["prize", "name", "value", "class", "endless", "delta", "reason", "salt"],
    "prize": ["prize", "name", "value"], "commit": ["hash"], "open": [], "pause": [], "close": [], "mode": ["mode"],
    "rules": ["document"], "name": ["name"], "created": [], "archive": [], "agenda": ["count", "sha256"],
}
OPTIONAL = {("award", "drawn"), ("award", "why"), ("stock", "name"), ("stock", "value"), ("stock", "class"),
            ("stock", "endless"), ("stock", "delta"), ("mode", "mode")}
WHOLE = {"v", "unit", "n", "of", "delta", "count"}
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
STOCK_MAX = 10**12


def no_repeats(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Bad("a member is there twice")
    return members


def no_number(_):
    raise Bad("a number is not whole")


def parse_line(b):
    try:
        m = json.loads(b.decode("utf-8"), object_pairs_hook=no_repeats, parse_float=no_number, parse_constant=no_number)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
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
    check_members(kind, m)
    written = encode({name: m[name] for name in order if name in m}) if kind != "rules" else \
        encode({"v": m["v"], "at": m["at"], "kind": kind})[:-1] + ',"document":' + encode(arranged(m["document"])) + "}"
    if written.encode("utf-8", "surrogatepass") + b"\n" != b:
        raise Bad("the line is not in its one right form")
    return m


def check_members(kind, m):
    for name, form in (("prize", ID), ("draw", TAG), ("user", TAG), ("salt", TAG), ("hash", HASH), ("sha256", HASH), ("value", VALUE), ("drawn", ID)):
        if m.get(name) is not None and not form.fullmatch(m[name]):
            raise Bad(f"the member {name} has another form")
    if kind == "award":
        if ("drawn" in m) != ("why" in m) or m.get("why", "limit") not in ("sold-out", "limit", "budget", "guarantee"):
            raise Bad("drawn and why do not belong together")
        if m["unit"] < 1 or not 1 <= m["n"] <= m["of"] <= 100:
            raise Bad("unit, n or of is out of range")
    if kind == "stock":
        if ("name" in m) != ("value" in m) or ("class" in m and "name" not in m) or m.get("class", "blank") != "blank":
            raise Bad("name, value and class do not belong together")
        if ("endless" in m and (m["endless"] is not True or "class" not in m)) or ("endless" in m) == ("delta" in m):
            raise Bad("endless, class and delta do not belong together")
    if kind == "agenda" and m["count"] < 1:
        raise Bad("count is out of range")


# ---- rules ----

RULES = {"win": 0, "odds": ["of", "prizes"], "fallback": 0, "guarantee": ["after", "prize"], "limits": ["of", "prize", "max", "per"],
         "budget": ["max", "per"], "zone": 0, "tickets": 0, "blocked": 0, "disclose": 0, "low": ["prize", "below"]}


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
    if "odds" in rules:
        rules["odds"]["prizes"] = dict(sorted(rules["odds"]["prizes"].items()))
    return rules


UNITS = {"ns": Fraction(1, 1000), "us": 1, "µs": 1, "μs": 1, "ms": 1000, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6}


def length(text):
    """The microseconds of a duration such as 1h30m."""
    parts = re.findall(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)", text)
    if "".join(a + b for a, b in parts) != text or not parts:
        raise Bad("a limit has no such window")
    return int(sum(Fraction(number) * UNITS[unit] for number, unit in parts))


class Zone:
    def __init__(self, name):
        self.zone, self.days = ZoneInfo(name), {}

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
            for name in named:
                if name not in self.prizes:
                    raise Bad(f"the rules name {name}, which is no prize")
            if fallback and not self.prizes[fallback].endless:
                raise Bad("the fallback is no endless blank")
            if "guarantee" in rules and self.prizes[rules["guarantee"]["prize"]].blank:
                raise Bad("a blank is guaranteed")
            if odds and ("win" in rules or sum(odds["prizes"].values()) > odds["of"] or fallback in odds["prizes"]):
                raise Bad("the odds do not hold")
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
        for limit in self.rules.get("limits", []):
            kind = self.turns_of(limit, prize)
            if limit["of"] != "draws" and kind and self.passes(limit, kind, user, us, 1):
                return "limit"
        budget = self.rules.get("budget")
        if budget:
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
        for kind in {self.turns_of(limit, p) for limit in rules.get("limits", [])} - {None}:
            self.turns.setdefault((user, kind), []).append(us)
        if "guarantee" in rules:
            self.misses[user] = self.misses.get(user, 0) + 1 if p.blank else 0
        if "budget" in rules and p.cents:
            self.spent_at.append(us)
            self.spent.append(self.spent[-1] + p.cents)
        p.issued += 1


# ---- the folder ----

class Verifier:
    def __init__(self, folder, key=None, kept=(), live=False, witnesses=()):
        self.folder, self.given, self.kept, self.live = folder, key, kept, live
        self.witnesses, self.named, self.witnessed = witnesses, [], []  # witnessed: (size, seconds) of each cosignature
        self.tree, self.pool, self.signed = Tree(), Pool(), []
        self.us, self.last, self.draws, self.seeds, self.epoch_key = -2**63, None, set(), None, (None, None)

    def read(self, name):
        try:
            with open(os.path.join(self.folder, name), "rb") as f:
                return f.read()
        except FileNotFoundError:
            raise Finding(0, "file", f"there is no file {name}")

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
        for kept in self.kept:
            if kept.startswith(b"drawsvc commitment v1\n"):
                if kept != own:
                    raise Finding(0, "kept", "the commitment is not the one that was kept")
            else:
                self.checkpoint(kept, "kept")
        self.signed.sort(key=lambda s: s[0])
        self.reveal()

    def checkpoint(self, signed, rule):
        try:
            origin, size, root = checkpoint(self.key.open(signed))
            if origin != self.commitment.origin:
                raise Bad("a checkpoint is of another log")
        except Bad as e:
            raise Finding(0, rule, str(e))
        self.signed.append((size, root, rule))
        return size

    def witness_keys(self):
        """The witnesses that the folder names: what bears their names must be theirs."""
        if os.path.exists(os.path.join(self.folder, "witnesses")):
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
            self.witnessed.append((size, seconds))

    def checkpoints(self):
        latest = self.read("checkpoint")  # first: a publisher goes on while its files are read
        several = os.path.exists(os.path.join(self.folder, "checkpoints"))  # the last is enough
        joined = self.read("checkpoints") if several else latest
        if self.live:  # what is behind the latest is the publisher's next; the latest may have gained cosignatures
            text = latest.rpartition(b"\n\n")[0] + b"\n\n"
            begin = joined.rfind(text)
            if begin >= 0:
                end = joined.find(b"\n\n", begin + len(text))
                joined = joined[: end + 1] if end >= 0 else joined
                latest = joined[begin:]
        parts, notes = joined.split(b"\n\n"), []
        if len(parts) % 2:
            raise Finding(0, "file", "checkpoints are not joined by one empty line")
        for i in range(0, len(parts), 2):
            notes.append(parts[i] + b"\n\n" + parts[i + 1] + (b"\n" if i + 2 < len(parts) else b""))
        self.covered = 0
        for note in notes:
            size = self.checkpoint(note, "checkpoint")
            self.cosigned(note, size)
            if size < self.covered:
                raise Finding(0, "checkpoint", "the sizes of checkpoints decrease")
            self.covered = size
        if notes[-1] != latest:
            raise Finding(0, "checkpoint", "checkpoint is not the last of checkpoints")

    def reveal(self):
        if self.live and not os.path.exists(os.path.join(self.folder, "reveal")):
            return
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
        packed = os.path.join(self.folder, "log.jsonl.gz")
        plain = os.path.join(self.folder, "log.jsonl")
        if not os.path.exists(plain) and not os.path.exists(packed):
            raise Finding(0, "file", "there is no file log.jsonl")
        with (open(plain, "rb") if os.path.exists(plain) else gzip.open(packed, "rb")) as f:
            for n, line in enumerate(f):  # in binary mode, lines end in \n alone
                if self.live and n == self.covered:
                    return
                yield line

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
            self.tree.add(b)
            while self.signed and self.signed[0][0] == n:
                _, root, rule = self.signed.pop(0)
                if root != self.tree.root():
                    raise Finding(n, rule, "the log up to here has another root than the one that was signed")
        self.end(self.tree.size)

    def end(self, n):
        if self.is_drawing():
            raise Finding(n, "draw", "the log ends within a draw")
        if self.signed:
            raise Finding(n + 1, self.signed[0][2], f"a log of {self.signed[0][0]} entries was signed, and this one has {n}")
        if n <= self.commitment.size:
            raise Finding(n + 1, "commitment", "the log ends before the commitment's entry")
        if self.covered < n:
            raise Finding(self.covered + 1, "checkpoint", f"no checkpoint covers the entries behind {self.covered}")
        if self.pool.state != "close" and not self.live:
            raise Finding(n + 1, "life", "the log ends before the pool is closed")

    def is_drawing(self):
        return self.last is not None and self.last["n"] < self.last["of"]

    def entry(self, n, line):
        kind, pool = line["kind"], self.pool
        if (n == 1) != (kind == "created"):
            raise Finding(n, "life", "the first entry, and it alone, makes the pool")
        if (n == self.commitment.size + 1) != (kind == "commit") or (kind == "commit" and line["hash"] != self.commitment.hash.hex()):
            raise Finding(n, "commitment", "the commitment's entry is not where it belongs")
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
        if kind in ("open", "pause", "close"):
            if pool.state == kind:
                raise Finding(n, "life", "the pool is in that state already")
            pool.state = kind
        try:
            rule = "stock"
            if kind == "stock":
                pool.stock(line)
            elif kind == "prize":
                pool.correct(line)
            elif kind == "rules":
                rule = "rules"
                pool.set_rules(line["document"])
        except (Bad, KeyError, TypeError, ValueError) as e:
            raise Finding(n, rule, str(e))

    def award(self, n, line):
        last = self.last
        if self.is_drawing():
            if any(line[m] != last[m] for m in ("draw", "user", "of", "at")) or line["n"] != last["n"] + 1:
                raise Finding(n, "draw", "the award is not the next of the draw before it")
        elif line["n"] != 1 or line["draw"] in self.draws:
            raise Finding(n, "draw", "the award begins no draw of a name of its own")
        self.draws.add(line["draw"])
        self.last = line
        if n > self.commitment.size + 1:
            self.decide(n, line)
        try:
            self.pool.take(line)
        except Bad as e:
            raise Finding(n, "stock", str(e))

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
            self.epoch_key = epoch, draw_key(self.seeds[epoch + 1], self.commitment.hash, epoch)
        prize, redirect = self.pool.decide(line, Stream(self.epoch_key[1], n))
        logged = (line["drawn"], line["why"]) if "why" in line else None
        if prize is None:
            raise Finding(n, "refused", "the pool is sold out")
        if prize.id != line["prize"] or prize.issued + 1 != line["unit"] or redirect != logged:
            raise Finding(n, "award", f"the log has unit {line['unit']} of {line['prize']} {logged or ''}, "
                                      f"the seed gives unit {prize.issued + 1} of {prize.id} {redirect or ''}")


def vectors(path):
    """Checks the numbers, keys, chains, trees, commitments, lines and signatures of a file."""
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
    print("\n".join(wrong) or "all vectors hold")
    return 3 if wrong else 0


def main():
    args = argparse.ArgumentParser(description="Checks the published files of one drawsvc pool.")
    args.add_argument("folder", nargs="?", metavar="DIR")
    args.add_argument("--key", metavar="VKEY")
    args.add_argument("--kept", metavar="FILE", nargs="+", action="extend", default=[])
    args.add_argument("--witness", metavar="VKEY", nargs="+", action="extend", default=[])
    args.add_argument("--live", action="store_true")
    args.add_argument("--output", choices=("text", "json"), default="text")
    args.add_argument("--vectors", metavar="FILE")
    o = args.parse_args()
    if o.vectors:
        return vectors(o.vectors)
    if not o.folder:
        args.error("DIR is missing")
    if not os.path.isdir(o.folder):
        args.exit(1, f"verify.py: {o.folder} is no folder\n")
    try:
        kept = [open(name, "rb").read() for name in o.kept]
        witnesses = [Witness(text) for text in o.witness]
    except (OSError, Bad) as e:
        args.exit(1, f"verify.py: {e}\n")
    v, found = Verifier(o.folder, o.key, kept, o.live, witnesses), None
    try:
        v.run()
    except Finding as e:
        found = e
    entries = v.tree.size if not found or not found.entry else min(v.tree.size, found.entry - 1)
    if o.output == "json":
        print(json.dumps({"ok": not found, "entries": entries, "entry": found.entry if found else 0,
                          "rule": found.rule if found else "", "detail": found.text if found else ""}))
    elif found:
        print(found)
    else:
        print(f"{v.commitment.origin}: {entries} entries hold")
    return 3 if found else 0


if __name__ == "__main__":
    sys.exit(main())
