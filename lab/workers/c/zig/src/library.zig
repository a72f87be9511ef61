//! ML-DSA and ML-KEM of Zig's standard library as C functions. `set` counts the sets of a family from
//! the smallest on; the places of keys are the caller's, of the sizes that
//! `zig_dsa_places` and `zig_kem_places` tell.

const builtin = @import("builtin");
const std = @import("std");

const mldsa = std.crypto.sign.mldsa;
const dsas = .{ mldsa.MLDSA44, mldsa.MLDSA65, mldsa.MLDSA87 };
const mlkem = std.crypto.kem.ml_kem;
const kems = .{ mlkem.MLKem512, mlkem.MLKem768, mlkem.MLKem1024 };

/// What a place of any of the keys below is aligned to.
const alignment = 64;

fn at(comptime Key: type, place: *anyopaque) *Key {
    comptime std.debug.assert(@alignOf(Key) <= alignment);
    return @ptrCast(@alignCast(place));
}

fn seen(comptime Key: type, place: *const anyopaque) *const Key {
    return @ptrCast(@alignCast(place));
}

export fn zig_version() [*:0]const u8 {
    return builtin.zig_version_string;
}

/// Bytes of a place for a pair, a private and a public key.
export fn zig_dsa_places(set: u8, places: *[3]usize) void {
    switch (set) {
        inline 0...2 => |i| places.* = .{
            @sizeOf(dsas[i].KeyPair), @sizeOf(dsas[i].SecretKey), @sizeOf(dsas[i].PublicKey),
        },
        else => unreachable,
    }
}

export fn zig_dsa_pair(set: u8, seed: *const [32]u8, pair: *anyopaque, pk: [*]u8) void {
    switch (set) {
        inline 0...2 => |i| {
            const made = at(dsas[i].KeyPair, pair);
            made.* = dsas[i].KeyPair.generateDeterministic(seed.*) catch unreachable;
            pk[0..dsas[i].PublicKey.encoded_length].* = made.public_key.toBytes();
        },
        else => unreachable,
    }
}

export fn zig_dsa_pair_private(set: u8, pair: *const anyopaque, sk: [*]u8) void {
    switch (set) {
        inline 0...2 => |i| {
            const bytes = seen(dsas[i].KeyPair, pair).secret_key.toBytes();
            sk[0..bytes.len].* = bytes;
        },
        else => unreachable,
    }
}

export fn zig_dsa_private(set: u8, sk: [*]const u8, key: *anyopaque) bool {
    switch (set) {
        inline 0...2 => |i| {
            const Key = dsas[i].SecretKey;
            at(Key, key).* = Key.fromBytes(sk[0..Key.encoded_length].*) catch return false;
            return true;
        },
        else => unreachable,
    }
}

export fn zig_dsa_public(set: u8, pk: [*]const u8, key: *anyopaque) bool {
    switch (set) {
        inline 0...2 => |i| {
            const Key = dsas[i].PublicKey;
            at(Key, key).* = Key.fromBytes(pk[0..Key.encoded_length].*) catch return false;
            return true;
        },
        else => unreachable,
    }
}

export fn zig_dsa_sign(
    set: u8,
    key: *const anyopaque,
    message: [*]const u8,
    message_size: usize,
    context: [*]const u8,
    context_size: usize,
    rnd: *const [32]u8,
    signature: [*]u8,
) bool {
    switch (set) {
        inline 0...2 => |i| {
            const private = seen(dsas[i].SecretKey, key);
            var signer = private.signerWithContext(rnd.*, context[0..context_size]) catch return false;
            signer.update(message[0..message_size]);
            signature[0..dsas[i].Signature.encoded_length].* = signer.finalize().toBytes();
            return true;
        },
        else => unreachable,
    }
}

export fn zig_dsa_verify(
    set: u8,
    key: *const anyopaque,
    message: [*]const u8,
    message_size: usize,
    context: [*]const u8,
    context_size: usize,
    signature: [*]const u8,
) bool {
    switch (set) {
        inline 0...2 => |i| {
            const Signature = dsas[i].Signature;
            const public = seen(dsas[i].PublicKey, key);
            const parsed = Signature.fromBytes(signature[0..Signature.encoded_length].*) catch return false;
            parsed.verifyWithContext(message[0..message_size], public.*, context[0..context_size]) catch return false;
            return true;
        },
        else => unreachable,
    }
}

/// Bytes of a place for a pair and a public key.
export fn zig_kem_places(set: u8, places: *[2]usize) void {
    switch (set) {
        inline 0...2 => |i| places.* = .{ @sizeOf(kems[i].KeyPair), @sizeOf(kems[i].PublicKey) },
        else => unreachable,
    }
}

export fn zig_kem_pair(set: u8, seed: *const [64]u8, pair: *anyopaque, pk: [*]u8) bool {
    switch (set) {
        inline 0...2 => |i| {
            const made = at(kems[i].KeyPair, pair);
            made.* = kems[i].KeyPair.generateDeterministic(seed.*) catch return false;
            pk[0..kems[i].PublicKey.encoded_length].* = made.public_key.toBytes();
            return true;
        },
        else => unreachable,
    }
}

export fn zig_kem_pair_private(set: u8, pair: *const anyopaque, sk: [*]u8) void {
    switch (set) {
        inline 0...2 => |i| {
            const bytes = seen(kems[i].KeyPair, pair).secret_key.toBytes();
            sk[0..bytes.len].* = bytes;
        },
        else => unreachable,
    }
}

export fn zig_kem_public(set: u8, pk: [*]const u8, key: *anyopaque) bool {
    switch (set) {
        inline 0...2 => |i| {
            const Key = kems[i].PublicKey;
            at(Key, key).* = Key.fromBytes(pk[0..Key.encoded_length]) catch return false;
            return true;
        },
        else => unreachable,
    }
}

/// Writes the ciphertext and the secret behind it.
export fn zig_kem_encaps(set: u8, key: *const anyopaque, m: *const [32]u8, to: [*]u8) void {
    switch (set) {
        inline 0...2 => |i| {
            const made = seen(kems[i].PublicKey, key).encapsDeterministic(m);
            to[0..made.ciphertext.len].* = made.ciphertext;
            to[made.ciphertext.len..][0..made.shared_secret.len].* = made.shared_secret;
        },
        else => unreachable,
    }
}

export fn zig_kem_decaps(set: u8, pair: *const anyopaque, ciphertext: [*]const u8, secret: *[32]u8) bool {
    switch (set) {
        inline 0...2 => |i| {
            const private = seen(kems[i].KeyPair, pair).secret_key;
            secret.* = private.decaps(ciphertext[0..kems[i].ciphertext_length]) catch return false;
            return true;
        },
        else => unreachable,
    }
}
