"""BLS signatures of drand's scheme bls-unchained-g1-rfc9380. Python 3.9 or later, standard library only.

It is for checking alone, and takes some tenths of a second for each signature: keys are points of G2, signatures points
of G1, and a round is signed as SHA-256 of its number. Points are read as Zcash writes them, hashed as RFC 9380 says.
"""
import hashlib

P = 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab
R = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001
X = 0xd201000000010000  # the curve's parameter is -X
DST = b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"


class Bad(ValueError):
    """What was given is no point, or no signature."""


# ---- the fields: Fp2 = Fp[u] / (u^2 + 1), Fp6 = Fp2[v] / (v^3 - (1 + u)), Fp12 = Fp6[w] / (w^2 - v) ----

def add2(a, b):
    return (a[0] + b[0]) % P, (a[1] + b[1]) % P


def sub2(a, b):
    return (a[0] - b[0]) % P, (a[1] - b[1]) % P


def mul2(a, b):
    x, y = a[0] * b[0], a[1] * b[1]
    return (x - y) % P, ((a[0] + a[1]) * (b[0] + b[1]) - x - y) % P


def by_xi(a):
    return (a[0] - a[1]) % P, (a[0] + a[1]) % P


def inv2(a):
    n = pow(a[0] * a[0] + a[1] * a[1], -1, P)
    return a[0] * n % P, -a[1] * n % P


def sqrt(a):
    """A root of an element of Fp, None where it has none."""
    root = pow(a, (P + 1) // 4, P)
    return root if root * root % P == a % P else None


def sqrt2(a):
    """A root of an element of Fp2, None where it has none."""
    norm = sqrt((a[0] * a[0] + a[1] * a[1]) % P)
    if norm is None:
        return None
    half = pow(2, -1, P)
    for n in (norm, -norm):
        x = sqrt((a[0] + n) * half % P)
        if x:
            root = x, a[1] * half * pow(x, -1, P) % P
            if mul2(root, root) == a:
                return root
    return ((0, 0) if a == (0, 0) else None)


ZERO2, ONE2 = (0, 0), (1, 0)
ZERO6, ONE6 = (ZERO2,) * 3, (ONE2, ZERO2, ZERO2)
ONE12 = (ONE6, ZERO6)


def add6(a, b):
    return add2(a[0], b[0]), add2(a[1], b[1]), add2(a[2], b[2])


def sub6(a, b):
    return sub2(a[0], b[0]), sub2(a[1], b[1]), sub2(a[2], b[2])


def mul6(a, b):
    t0, t1, t2 = mul2(a[0], b[0]), mul2(a[1], b[1]), mul2(a[2], b[2])
    s12 = sub2(sub2(mul2(add2(a[1], a[2]), add2(b[1], b[2])), t1), t2)
    s01 = sub2(sub2(mul2(add2(a[0], a[1]), add2(b[0], b[1])), t0), t1)
    s02 = sub2(sub2(mul2(add2(a[0], a[2]), add2(b[0], b[2])), t0), t2)
    return add2(t0, by_xi(s12)), add2(s01, by_xi(t2)), add2(s02, t1)


def by_v(a):
    return by_xi(a[2]), a[0], a[1]


def inv6(a):
    x = sub2(mul2(a[0], a[0]), by_xi(mul2(a[1], a[2])))
    y = sub2(by_xi(mul2(a[2], a[2])), mul2(a[0], a[1]))
    z = sub2(mul2(a[1], a[1]), mul2(a[0], a[2]))
    n = inv2(add2(mul2(a[0], x), by_xi(add2(mul2(a[2], y), mul2(a[1], z)))))
    return mul2(x, n), mul2(y, n), mul2(z, n)


def mul12(a, b):
    t0, t1 = mul6(a[0], b[0]), mul6(a[1], b[1])
    return add6(t0, by_v(t1)), sub6(sub6(mul6(add6(a[0], a[1]), add6(b[0], b[1])), t0), t1)


def inv12(a):
    n = inv6(sub6(mul6(a[0], a[0]), by_v(mul6(a[1], a[1]))))
    return mul6(a[0], n), mul6(sub6(ZERO6, a[1]), n)


def conjugate(a):
    """a to the power of P^6."""
    return a[0], sub6(ZERO6, a[1])


GAMMA = pow(2, (P - 1) // 6, P)  # (1 + u)^((P^2 - 1) / 6), as (1 + u)^(P + 1) = 2


def frobenius2(a):
    """a to the power of P^2: the coefficient of w^i is multiplied by GAMMA^i."""
    def scaled(c, i):
        g = pow(GAMMA, i, P)
        return c[0] * g % P, c[1] * g % P
    return (tuple(scaled(a[0][i], 2 * i) for i in range(3)), tuple(scaled(a[1][i], 2 * i + 1) for i in range(3)))


def power12(a, n):
    result = ONE12
    for bit in bin(n)[2:]:
        result = mul12(result, result)
        if bit == "1":
            result = mul12(result, a)
    return result


# ---- the curves: y^2 = x^3 + 4 over Fp, y^2 = x^3 + 4 (1 + u) over Fp2; None is the point at infinity ----

class Curve:
    def __init__(self, mul, add, sub, inv, zero):
        self.mul, self.add_, self.sub, self.inv, self.zero = mul, add, sub, inv, zero

    def slope(self, a, b):
        """That of the line through two points, None where it is vertical."""
        if a[0] != b[0]:
            return self.mul(self.sub(b[1], a[1]), self.inv(self.sub(b[0], a[0])))
        if a[1] != b[1] or a[1] == self.zero:
            return None
        square = self.mul(a[0], a[0])
        return self.mul(self.add_(self.add_(square, square), square), self.inv(self.add_(a[1], a[1])))

    def add(self, a, b):
        if a is None or b is None:
            return b if a is None else a
        s = self.slope(a, b)
        if s is None:
            return None
        x = self.sub(self.sub(self.mul(s, s), a[0]), b[0])
        return x, self.sub(self.mul(s, self.sub(a[0], x)), a[1])

    def times(self, n, point):
        result = None
        for bit in bin(n)[2:]:
            result = self.add(result, result)
            if bit == "1":
                result = self.add(result, point)
        return result


G1 = Curve(lambda a, b: a * b % P, lambda a, b: (a + b) % P, lambda a, b: (a - b) % P, lambda a: pow(a, -1, P), 0)
G2 = Curve(mul2, add2, sub2, inv2, ZERO2)
BASE2 = ((0x024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8,
          0x13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e),
         (0x0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801,
          0x0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be))


def read_x(b, size):
    """The x of a compressed point, in parts of the field, the last first; and whether y is the larger root."""
    if len(b) != size or not b[0] & 0x80 or b[0] & 0x40:
        raise Bad("the point is not compressed, or is the one at infinity")
    parts = [int.from_bytes(bytes([b[0] & 0x1f]) + b[1:48], "big")]
    parts += [int.from_bytes(b[i:i + 48], "big") for i in range(48, size, 48)]
    if max(parts) >= P:
        raise Bad("the point's x lies beyond the field")
    return parts, bool(b[0] & 0x20)


def read_g1(b):
    (x,), larger = read_x(b, 48)
    y = sqrt((x * x * x + 4) % P)
    if y is None:
        raise Bad("the point is not on the curve")
    point = x, (y if (y > P - y) == larger else -y % P)
    if G1.times(R, point) is not None:
        raise Bad("the point is not in the subgroup")
    return point


def read_g2(b):
    (high, low), larger = read_x(b, 96)
    x = low, high
    y = sqrt2(add2(mul2(mul2(x, x), x), (4, 4)))
    if y is None:
        raise Bad("the point is not on the curve")
    opposite = sub2(ZERO2, y)
    point = x, (y if ((y[1], y[0]) > (opposite[1], opposite[0])) == larger else opposite)
    if G2.times(R, point) is not None:
        raise Bad("the point is not in the subgroup")
    return point


# ---- the pairing ----

def miller(p, q):
    """Miller's loop for p of G1 and q of G2. Lines are scaled by elements of Fp4, which the exponentiation removes."""
    def line(s, through):
        # w^3 * (y - s x - (y0 - s x0)), with the twist (x, y) -> (x / w^2, y / w^3)
        constant = sub2(mul2(s, through[0]), through[1])
        return (constant, (-s[0] * p[0] % P, -s[1] * p[0] % P), ZERO2), (ZERO2, (p[1], 0), ZERO2)
    f, t = ONE12, q
    for bit in bin(X)[3:]:
        f = mul12(mul12(f, f), line(G2.slope(t, t), t))
        t = G2.add(t, t)
        if bit == "1":
            f = mul12(f, line(G2.slope(t, q), t))
            t = G2.add(t, q)
    return conjugate(f)


def is_one(f):
    """Whether a product of Miller's loops is a product of pairings that is 1."""
    f = mul12(conjugate(f), inv12(f))
    f = mul12(frobenius2(f), f)
    return power12(f, (P**4 - P**2 + 1) // R) == ONE12


# ---- hashing to G1: RFC 9380, suite BLS12381G1_XMD:SHA-256_SSWU_RO_ ----

def expand(message, size):
    """expand_message_xmd."""
    suffix = DST + bytes([len(DST)])
    first = hashlib.sha256(bytes(64) + message + size.to_bytes(2, "big") + b"\0" + suffix).digest()
    block, out = bytes(32), b""
    for i in range(1, (size + 31) // 32 + 1):
        block = hashlib.sha256(bytes(a ^ b for a, b in zip(first, block)) + bytes([i]) + suffix).digest()
        out += block
    return out[:size]


A = 0x00144698a3b8e9433d693a02c96d4982b0ea985383ee66a8d8e8981aefd881ac98936f8da0e0f97f5cf428082d584c1d
B = 0x12e2908d11688030018b12e8753eee3b2016c1f0f24f4070a0b9c14fcef35ef55a23215a316ceaa5d1cc48e98e172be0
Z = 11
# The isogeny of degree 11 from y^2 = x^3 + A x + B, RFC 9380 appendix E.2: coefficients, that of x^0 first.
X_NUM = (
    0x11a05f2b1e833340b809101dd99815856b303e88a2d7005ff2627b56cdb4e2c85610c2d5f2e62d6eaeac1662734649b7,
    0x17294ed3e943ab2f0588bab22147a81c7c17e75b2f6a8417f565e33c70d1e86b4838f2a6f318c356e834eef1b3cb83bb,
    0x0d54005db97678ec1d1048c5d10a9a1bce032473295983e56878e501ec68e25c958c3e3d2a09729fe0179f9dac9edcb0,
    0x1778e7166fcc6db74e0609d307e55412d7f5e4656a8dbf25f1b33289f1b330835336e25ce3107193c5b388641d9b6861,
    0x0e99726a3199f4436642b4b3e4118e5499db995a1257fb3f086eeb65982fac18985a286f301e77c451154ce9ac8895d9,
    0x1630c3250d7313ff01d1201bf7a74ab5db3cb17dd952799b9ed3ab9097e68f90a0870d2dcae73d19cd13c1c66f652983,
    0x0d6ed6553fe44d296a3726c38ae652bfb11586264f0f8ce19008e218f9c86b2a8da25128c1052ecaddd7f225a139ed84,
    0x17b81e7701abdbe2e8743884d1117e53356de5ab275b4db1a682c62ef0f2753339b7c8f8c8f475af9ccb5618e3f0c88e,
    0x080d3cf1f9a78fc47b90b33563be990dc43b756ce79f5574a2c596c928c5d1de4fa295f296b74e956d71986a8497e317,
    0x169b1f8e1bcfa7c42e0c37515d138f22dd2ecb803a0c5c99676314baf4bb1b7fa3190b2edc0327797f241067be390c9e,
    0x10321da079ce07e272d8ec09d2565b0dfa7dccdde6787f96d50af36003b14866f69b771f8c285decca67df3f1605fb7b,
    0x06e08c248e260e70bd1e962381edee3d31d79d7e22c837bc23c0bf1bc24c6b68c24b1b80b64d391fa9c8ba2e8ba2d229,
)
X_DEN = (
    0x08ca8d548cff19ae18b2e62f4bd3fa6f01d5ef4ba35b48ba9c9588617fc8ac62b558d681be343df8993cf9fa40d21b1c,
    0x12561a5deb559c4348b4711298e536367041e8ca0cf0800c0126c2588c48bf5713daa8846cb026e9e5c8276ec82b3bff,
    0x0b2962fe57a3225e8137e629bff2991f6f89416f5a718cd1fca64e00b11aceacd6a3d0967c94fedcfcc239ba5cb83e19,
    0x03425581a58ae2fec83aafef7c40eb545b08243f16b1655154cca8abc28d6fd04976d5243eecf5c4130de8938dc62cd8,
    0x13a8e162022914a80a6f1d5f43e7a07dffdfc759a12062bb8d6b44e833b306da9bd29ba81f35781d539d395b3532a21e,
    0x0e7355f8e4e667b955390f7f0506c6e9395735e9ce9cad4d0a43bcef24b8982f7400d24bc4228f11c02df9a29f6304a5,
    0x0772caacf16936190f3e0c63e0596721570f5799af53a1894e2e073062aede9cea73b3538f0de06cec2574496ee84a3a,
    0x14a7ac2a9d64a8b230b3f5b074cf01996e7f63c21bca68a81996e1cdf9822c580fa5b9489d11e2d311f7d99bbdcc5a5e,
    0x0a10ecf6ada54f825e920b3dafc7a3cce07f8d1d7161366b74100da67f39883503826692abba43704776ec3a79a1d641,
    0x095fc13ab9e92ad4476d6e3eb3a56680f682b4ee96f7d03776df533978f31c1593174e4b4b7865002d6384d168ecdd0a,
    1,
)
Y_NUM = (
    0x090d97c81ba24ee0259d1f094980dcfa11ad138e48a869522b52af6c956543d3cd0c7aee9b3ba3c2be9845719707bb33,
    0x134996a104ee5811d51036d776fb46831223e96c254f383d0f906343eb67ad34d6c56711962fa8bfe097e75a2e41c696,
    0x00cc786baa966e66f4a384c86a3b49942552e2d658a31ce2c344be4b91400da7d26d521628b00523b8dfe240c72de1f6,
    0x01f86376e8981c217898751ad8746757d42aa7b90eeb791c09e4a3ec03251cf9de405aba9ec61deca6355c77b0e5f4cb,
    0x08cc03fdefe0ff135caf4fe2a21529c4195536fbe3ce50b879833fd221351adc2ee7f8dc099040a841b6daecf2e8fedb,
    0x16603fca40634b6a2211e11db8f0a6a074a7d0d4afadb7bd76505c3d3ad5544e203f6326c95a807299b23ab13633a5f0,
    0x04ab0b9bcfac1bbcb2c977d027796b3ce75bb8ca2be184cb5231413c4d634f3747a87ac2460f415ec961f8855fe9d6f2,
    0x0987c8d5333ab86fde9926bd2ca6c674170a05bfe3bdd81ffd038da6c26c842642f64550fedfe935a15e4ca31870fb29,
    0x09fc4018bd96684be88c9e221e4da1bb8f3abd16679dc26c1e8b6e6a1f20cabe69d65201c78607a360370e577bdba587,
    0x0e1bba7a1186bdb5223abde7ada14a23c42a0ca7915af6fe06985e7ed1e4d43b9b3f7055dd4eba6f2bafaaebca731c30,
    0x19713e47937cd1be0dfd0b8f1d43fb93cd2fcbcb6caf493fd1183e416389e61031bf3a5cce3fbafce813711ad011c132,
    0x18b46a908f36f6deb918c143fed2edcc523559b8aaf0c2462e6bfe7f911f643249d9cdf41b44d606ce07c8a4d0074d8e,
    0x0b182cac101b9399d155096004f53f447aa7b12a3426b08ec02710e807b4633f06c851c1919211f20d4c04f00b971ef8,
    0x0245a394ad1eca9b72fc00ae7be315dc757b3b080d4c158013e6632d3c40659cc6cf90ad1c232a6442d9d3f5db980133,
    0x05c129645e44cf1102a159f748c4a3fc5e673d81d7e86568d9ab0f5d396a7ce46ba1049b6579afb7866b1e715475224b,
    0x15e6be4e990f03ce4ea50b3b42df2eb5cb181d8f84965a3957add4fa95af01b2b665027efec01c7704b456be69c8b604,
)
Y_DEN = (
    0x16112c4c3a9c98b252181140fad0eae9601a6de578980be6eec3232b5be72e7a07f3688ef60c206d01479253b03663c1,
    0x1962d75c2381201e1a0cbd6c43c348b885c84ff731c4d59ca4a10356f453e01f78a4260763529e3532f6102c2e49a03d,
    0x058df3306640da276faaae7d6e8eb15778c4855551ae7f310c35a5dd279cd2eca6757cd636f96f891e2538b53dbf67f2,
    0x16b7d288798e5395f20d23bf89edb4d1d115c5dbddbcd30e123da489e726af41727364f2c28297ada8d26d98445f5416,
    0x0be0e079545f43e4b00cc912f8228ddcc6d19c9f0f69bbb0542eda0fc9dec916a20b15dc0fd2ededda39142311a5001d,
    0x08d9e5297186db2d9fb266eaac783182b70152c65550d881c5ecd87b6f0f5a6449f38db9dfa9cce202c6477faaf9b7ac,
    0x166007c08a99db2fc3ba8734ace9824b5eecfdfa8d0cf8ef5dd365bc400a0051d5fa9c01a58b1fb93d1a1399126a775c,
    0x16a3ef08be3ea7ea03bcddfabba6ff6ee5a4375efa1f4fd7feb34fd206357132b920f5b00801dee460ee415a15812ed9,
    0x1866c8ed336c61231a1be54fd1d74cc4f9fb0ce4c6af5920abc5750c4bf39b4852cfe2f7bb9248836b233d9d55535d4a,
    0x167a55cda70a6e1cea820597d94a84903216f763e13d87bb5308592e7ea7d4fbc7385ea3d529b35e346ef48bb8913f55,
    0x04d2f259eea405bd48f010a01ad2911d9c6dd039bb61a6290e591b36e636a5c871a5c29f4f83060400f8b49cba8f6aa8,
    0x0accbb67481d033ff5852c1e48c50c477f94ff8aefce42d28c0f9a88cea7913516f968986f7ebbea9684b529e2561092,
    0x0ad6b9514c767fe3c3613144b45f1496543346d98adf02267d5ceef9a00d9b8693000763e3b90ac11e99b138573345cc,
    0x02660400eb2e4f3b628bdd0d53cd76f2bf565b94e72927c1cb748df27942480e420517bd8714cc80d1fadc1326ed06f7,
    0x0e0fa1d816ddc03e6b24255e0d7819c171c40f65e273b853324efcd6356caa205ca2f570f13497804415473a1d634b8f,
    1,
)


def polynomial(coefficients, x):
    result = 0
    for c in reversed(coefficients):
        result = (result * x + c) % P
    return result


def to_curve(u):
    """Simplified SWU, and the isogeny."""
    tv = (Z * Z * pow(u, 4, P) + Z * u * u) % P
    x = (-B * pow(A, -1, P) * (1 + pow(tv, -1, P)) if tv else B * pow(Z * A, -1, P)) % P
    y = sqrt((x * x * x + A * x + B) % P)
    if y is None:
        x = Z * u * u * x % P
        y = sqrt((x * x * x + A * x + B) % P)
    if y & 1 != u & 1:
        y = -y % P
    below = polynomial(X_DEN, x), polynomial(Y_DEN, x)
    if 0 in below:
        return None
    return polynomial(X_NUM, x) * pow(below[0], -1, P) % P, y * polynomial(Y_NUM, x) * pow(below[1], -1, P) % P


def hash_to_g1(message):
    b = expand(message, 128)
    both = G1.add(to_curve(int.from_bytes(b[:64], "big") % P), to_curve(int.from_bytes(b[64:], "big") % P))
    return G1.times(X + 1, both)


def is_key(key):
    """Whether 96 bytes are a public key."""
    try:
        read_g2(key)
        return True
    except Bad:
        return False


def verify_round(key, number, signature):
    """Whether a signature is that of a round of the chain with a key."""
    try:
        public, point = read_g2(key), read_g1(signature)
    except Bad:
        return False
    hashed = hash_to_g1(hashlib.sha256(number.to_bytes(8, "big")).digest())
    return is_one(mul12(miller((point[0], -point[1] % P), BASE2), miller(hashed, public)))
